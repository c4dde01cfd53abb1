// One routed tool call: which way it goes, decided before anything is sent.
// Called by index for every `tools/execute`. The own connection if there is one
// that offers the tool, else dsh's shared one, stamped. Whatever goes wrong before
// the call is sent leaves it on the shared path; after that it is never sent again,
// because plumb's writes are not idempotent.
import { mintId } from './mint.mjs'
import { readCaller } from './agent.mjs'
import { takeOver } from './takeover.mjs'
import { failure, messageOf, redact, toDshResult } from './text.mjs'
import { LONGEST_TIMER_MS } from './options.mjs'
import { callTool, PROOF_KEY, SESSION_START } from './wire.mjs'

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * The listeners for `tools/execute` and `tools/result`. `ready` resolves to
 * `{ connections, stampPath }` once the SDK is found; either may be undefined.
 */
export function createDispatch({ options, voice, scope, ready }) {
  const prefix = `mcp__${options.serverName}__`

  function locate(exec) {
    const { caller, moved } = readCaller(exec)
    for (const field of moved) {
      voice.warn(`field ${field.path}`, `a call of ${exec.name} did not have ${field.path} (${field.holds}) where this plugin reads it; ${field.loss}`)
    }
    return caller
  }

  /** What is known of the call, or undefined for one that cannot be attributed. */
  function prepare(exec) {
    const caller = locate(exec)
    if (caller === undefined) return undefined
    const id = mintId(options.idPrefix, caller)
    const tool = exec.name.slice(prefix.length)
    if (!('arguments' in exec)) return { caller, id, tool }
    const given = isObject(exec.arguments) ? exec.arguments : {}
    if (!options.normaliseDeclarations) return { caller, id, tool, given, args: given }
    const { args, typedId } = takeOver(tool, given, id)
    if (typedId !== undefined) {
      voice.warn(`takeover ${id}`, `the model declared itself to plumb as ${JSON.stringify(typedId)}; its session_start goes out as "${id}" instead`)
    }
    return { caller, id, tool, given, args }
  }

  /** Borrows the agent's connection if the call can go over it. */
  async function borrow(connections, call) {
    if (connections === undefined || call.args === undefined) return undefined
    try {
      const loan = await connections.borrow(call.caller)
      if (loan.link.tools.has(call.tool) && !loan.link.isClosed()) return loan
      loan.giveBack()
      voice.event(`${call.id}: its own connection does not offer ${call.tool}; the call goes over the shared one`)
    } catch (error) {
      voice.warn('no connection', `no connection of its own could be opened for ${call.id} (${messageOf(error)}); calls go over the shared connection until one can`)
    }
    return undefined
  }

  async function viaOwn({ link, giveBack }, call, exec) {
    try {
      const proof = call.tool === SESSION_START && options.normaliseDeclarations ? await link.proof(call.args) : {}
      voice.event(`${call.id}: ${call.tool} over its own connection`)
      // dsh's signal is the only limit: a build or a long wait may take its time.
      const answer = await callTool(link.client, call.tool, { ...call.args, ...proof }, { signal: exec.signal, timeout: LONGEST_TIMER_MS })
      return toDshResult(redact(answer, proof[PROOF_KEY]))
    } catch (error) {
      return failure(messageOf(error))
    } finally {
      giveBack()
    }
  }

  async function viaShared(call, exec, next, stampPath) {
    if (call.args !== call.given) exec.arguments = Object.freeze(call.args)
    const open = { id: call.id, caller: call.caller, stamps: 0 }
    const result = await scope.run(open, next)
    if (stampPath !== undefined && open.stamps === 0 && wasSent(result, exec)) {
      voice.warn('nothing stamped', `${exec.name} went to plumb without the agent's identity: the stamp was put on ${stampPath}, which dsh's MCP client does not use`)
    }
    return result
  }

  const isRouted = (exec) => typeof exec?.name === 'string' && exec.name.startsWith(prefix)
  let hasFired = false

  async function onExecute(exec, next) {
    if (typeof exec?.name !== 'string') locate(exec ?? {})
    if (!isRouted(exec)) return next()
    hasFired = true
    let parts = {}
    let call
    let loan
    try {
      parts = await ready
      call = prepare(exec)
      if (call !== undefined) loan = await borrow(parts.connections, call)
    } catch (error) {
      voice.warn('before dispatch', `the identity of a call could not be prepared (${messageOf(error)}); it goes out without`)
    }
    if (call === undefined) return next()
    return loan === undefined ? viaShared(call, exec, next, parts.stampPath) : viaOwn(loan, call, exec)
  }

  /** Proves that `tools/execute` is still where calls pass: a call that succeeded went through it. */
  function onResult(exec, result) {
    if (hasFired || !isRouted(exec) || result?.isError === true) return
    voice.warn('field tools/execute', 'dsh no longer passes tool calls through tools/execute, so no call is attributed')
  }

  return { onExecute, onResult }
}

/** Whether the call reached the MCP client: one that dsh itself turned away carries a code, and nothing to stamp. */
const wasSent = (result, exec) => exec.signal?.aborted !== true && (result?.isError !== true || result.error?.info?.code === undefined)

