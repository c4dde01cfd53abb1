//! Operations that run a tool or a command without a model: `tool`, `env_entry`.
//! Called by the interpreter. Must never add an agent to a call that asked for none.

import { named } from './room.mjs'

/** `tool {name, arguments, session?}`: one call through the tool pipeline, with that session's agent or with none. */
export async function tool(op, room) {
  const agent = op.session === undefined ? undefined : named(room.sessions, 'session', op.session).agent
  room.calls = (room.calls ?? 0) + 1
  const result = await room.ctx.get('tools').execute({
    callId: op.call_id ?? `driver-${room.calls}`,
    name: op.name,
    arguments: op.arguments ?? {},
    signal: new AbortController().signal,
    ...(agent === undefined ? {} : { agent }),
  })
  return { isError: result.isError, text: texts(result.content), value: result.value, error: result.error }
}

/** `env_entry {command, env?, dsh_env?, workdir?}`: a caller's own explicit environment, past the bash tool. */
export async function envEntry(op, room) {
  const shell = room.ctx.get('shell')
  const request = { command: op.command, env: op.env, dshEnv: op.dsh_env, workdir: op.workdir }
  const result = await shell.run(shell.resolve(request))
  return { exitCode: result.exitCode, stdout: result.stdout.text, stderr: result.stderr.text }
}

function texts(content) {
  return (content ?? []).filter((block) => block.type === 'text').map((block) => block.text).join('')
}
