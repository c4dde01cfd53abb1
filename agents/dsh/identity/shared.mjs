// The declarations on dsh's shared connection.
// Called by stamp, before the first call of an agent on each client: dsh builds a
// new client for every reconnect, and a new connection knows nobody. Overlapping
// first calls wait for one declaration. Never sends a proof: one serve process
// links one conversation for its whole life, and many agents are on this one.
import { declarationOf, declare, reportOutcome } from './declare.mjs'
import { messageOf } from './text.mjs'

/** Returns `before(client, call)`: the agent's declaration, settled once it may call. */
export function createSharedDeclarations({ options, voice, scope, mailUnknown }) {
  /** By client, then by id. */
  const declared = new WeakMap()

  async function send(client, { id, caller }) {
    try {
      const outcome = await declare({ client, declaration: declarationOf(options, caller, id), connection: 'shared', mailUnknown })
      reportOutcome({ voice, id, outcome, connection: 'shared' })
    } catch (error) {
      voice.warn(`declaration ${id}`, `the declaration of ${id} failed on the shared connection: ${messageOf(error)}`)
    }
  }

  return function before(client, call) {
    const agents = declared.get(client) ?? new Map()
    declared.set(client, agents)
    if (!agents.has(call.id)) agents.set(call.id, scope.exit(() => send(client, call)))
    return agents.get(call.id)
  }
}
