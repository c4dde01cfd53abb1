//! The door to the dsh build at hand: everything that differs between builds, told apart by what is there.
//! Used by the operations through `room.dsh`. Must never decide by a version number.

import { stubBackendClass } from './stub-backend.mjs'

/**
 * Open the door.
 * @param ctx the cordis context.
 * @param packages the dsh packages as imported: `{ agentPackage, llmPackage, sessionPackage, persistencePackage }`.
 */
export function openDsh(ctx, { agentPackage, llmPackage, sessionPackage, persistencePackage }) {
  const selection = () => ctx.get('agentDefaultModel').currentSelection()
  const StubBackend = stubBackendClass(persistencePackage.SessionPersistence)
  return {
    sessionId: (text) => sessionPackage.SessionId(text),
    userMessage: (text) => llmPackage.createUserMessage({ content: [{ type: 'text', text }], source: { kind: 'user' } }),
    agentOptions: () => agentOptions(selection(), agentPackage),
    events,
    forkSource: (session) => forkSource(session, sessionPackage),
    runShell,
    stubBackend: (own, location) => new StubBackend(own, location),
  }
}

/** What `create` and `resume` need so that the agent runs on the default model. */
function agentOptions(selection, agentPackage) {
  return {
    agentOptions: { provider: selection.provider, model: selection.model },
    setup: (agentCtx) => {
      agentPackage.installModelSelection(agentCtx, { current: selection, assembled: undefined })
    },
  }
}

/** All events of a live session; later builds hand out a copy instead of the array. */
function events(session) {
  return typeof session.snapshotEvents === 'function' ? session.snapshotEvents() : session.events
}

/** Earlier executors run a command to its end; later ones hand out a process and its result. */
async function runShell(shell, spec) {
  return typeof shell.run === 'function' ? shell.run(spec) : (await shell.execute(spec)).result()
}

/**
 * The part of `agents.create` that makes the new session a fork: everything up to the last completed turn.
 * Builds that mark a seeded header export `buildForkSeed`; earlier ones take a plain seed and its length.
 */
function forkSource(session, sessionPackage) {
  const log = events(session)
  const boundary = log.findLastIndex((event) => event.type === 'turn/end')
  if (boundary < 0) return { meta: {} }
  if (typeof sessionPackage.buildForkSeed === 'function') {
    return {
      seed: sessionPackage.buildForkSeed(log, boundary),
      inheritedEventCount: sessionPackage.SessionLogOffset(boundary + 1),
      meta: { isSeeded: true },
    }
  }
  return { seed: log.slice(0, boundary + 1), meta: { seedLength: boundary + 1 } }
}
