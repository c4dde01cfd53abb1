// The resume proof, asked of plumb's own identity hook.
// Called by declare for each new per-agent connection. Runs `plumb hooks
// run-claude` as Claude Code would before the declaration, and takes the stamp and
// the proof from its answer. Never knows the key, never keeps the hook alive past
// its bound, never fails: no proof is a reason, not an error.
import { spawn } from 'node:child_process'
import { PROOF_KEY, SESSION_START, STAMP_KEYS } from './wire.mjs'

/** More than any honest answer: the hook reads at most 64 kB and echoes it. */
const LONGEST_ANSWER = 256 * 1024

/** The prefix by which the hook knows plumb's tools, whatever the row is called. */
const HOOK_PREFIX = 'mcp__plumb__'

/** What Claude Code would write to the hook before this declaration. */
export const hookRequest = (id, declaration) =>
  JSON.stringify({ session_id: id, hook_event_name: 'PreToolUse', tool_name: `${HOOK_PREFIX}${SESSION_START}`, tool_input: declaration })

/** Reads the answer: `{ fields }` with exactly stamp and proof, or `{ none: reason }`. */
export function readAnswer(answer, id) {
  if (answer.trim() === '') return { none: 'the hook answered nothing (plumb is too old for it, or its daemon takes no proof)' }
  let input
  try {
    input = JSON.parse(answer)?.hookSpecificOutput?.updatedInput
  } catch {
    return { none: 'the hook did not answer in JSON' }
  }
  const stampKey = STAMP_KEYS.find((key) => input?.[key] === id)
  const proof = input?.[PROOF_KEY]
  if (stampKey === undefined) return { none: 'the hook did not name this agent' }
  if (typeof proof !== 'string' || proof === '') return { none: 'the hook gave no proof (the daemon takes none)' }
  return { fields: { [stampKey]: id, [PROOF_KEY]: proof } }
}

/** Runs the hook and reads its answer, within `timeoutMs` and until `unmounted`. */
export function askProof({ command, env, cwd, id, declaration, timeoutMs, unmounted }) {
  const { PLUMB_IDENTITY_HOOK: _switch, ...hookEnv } = env
  return new Promise((resolve) => {
    let answer = ''
    const hook = start(command, { env: hookEnv, cwd })
    if (hook instanceof Error) return resolve({ none: `the hook did not start (${hook.message})` })
    const settle = (outcome) => {
      clearTimeout(bound)
      unmounted.removeEventListener('abort', giveUp)
      hook.stdout?.destroy()
      hook.stdin?.destroy()
      resolve(outcome)
    }
    const stop = (reason) => {
      endGroup(hook)
      settle({ none: reason })
    }
    const giveUp = () => stop('the plugin was unmounted')
    unmounted.addEventListener('abort', giveUp)
    const bound = setTimeout(() => stop(`the hook did not answer within ${timeoutMs} ms`), timeoutMs)
    hook.on('error', (error) => settle({ none: `the hook did not start (${error.code ?? error.message})` }))
    hook.stdin?.on('error', () => {})
    hook.stdout?.on('data', (chunk) => {
      answer += chunk
      if (answer.length > LONGEST_ANSWER) stop('the hook answered without end')
    })
    hook.on('close', (code) => settle(code === 0 ? readAnswer(answer, id) : { none: `the hook ended with ${code ?? 'a signal'}` }))
    hook.stdin?.end(hookRequest(id, declaration))
  })
}

function start(command, where) {
  try {
    // Its own process group: a wrapper's child must end with the wrapper.
    return spawn(command, ['hooks', 'run-claude'], { ...where, stdio: ['pipe', 'pipe', 'ignore'], detached: true })
  } catch (error) {
    return error
  }
}

function endGroup(hook) {
  try {
    process.kill(-hook.pid, 'SIGKILL')
  } catch {
    // Already gone.
  }
}
