//! Operations that run a tool or a command without a model: `tool`, `tools`, `job_output`, `env_entry`.
//! Called by the interpreter. Must never add an agent to a call that asked for none.

import { within } from './deadline.mjs'
import { keep, named } from './room.mjs'

/** `tool {name, arguments, session?, as?}`: one call through the tool pipeline, with that session's agent or with none. */
export async function tool(op, room) {
  const result = await within(op, call(op.name, op.arguments ?? {}, op.session, room), () => `${op.name} running`)
  if (op.as !== undefined) keep(room.jobs, 'job', op.as, { id: result.value?.jobId, session: op.session })
  return result
}

/** `tools {calls: [{name, arguments}], session?}`: several at once, dispatched before any of them is answered. */
export async function tools(op, room) {
  const calls = op.calls.map(({ name, arguments: args }) => call(name, args ?? {}, op.session, room))
  return within(op, Promise.all(calls), () => `${calls.length} calls running`)
}

/** `job_output {job}`: wait for the background job that a `tool` operation started under that name. */
export async function jobOutput(op, room) {
  const job = named(room.jobs, 'job', op.job)
  if (job.id === undefined) throw new Error(`"${op.job}" started no background job`)
  return within(op, call('job_output', { job_id: job.id, wait: true }, job.session, room), () => `job ${job.id} running`)
}

/** `env_entry {command, env?, dsh_env?, workdir?}`: a caller's own explicit environment, past the bash tool. */
export async function envEntry(op, room) {
  const shell = room.ctx.get('shell')
  const request = { command: op.command, env: op.env, dshEnv: op.dsh_env, workdir: op.workdir }
  const result = await within(op, room.dsh.runShell(shell, shell.resolve(request)), () => 'command running')
  return { exitCode: result.exitCode, stdout: result.stdout.text, stderr: result.stderr.text }
}

async function call(name, args, session, room) {
  const agent = session === undefined ? undefined : named(room.sessions, 'session', session).agent
  room.calls += 1
  const result = await room.ctx.get('tools').execute({
    callId: `driver-${room.calls}`,
    name,
    arguments: args,
    signal: new AbortController().signal,
    ...(agent === undefined ? {} : { agent }),
  })
  return { isError: result.isError, text: texts(result.content), value: result.value, error: result.error }
}

function texts(content) {
  return (content ?? []).filter((block) => block.type === 'text').map((block) => block.text).join('')
}
