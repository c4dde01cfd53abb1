//! The door to the dsh build at hand: everything that differs between builds, told apart by what is there.
//! Used by the operations through `room.dsh`. Must never decide by a version number.

/**
 * Open the door.
 * @param ctx the cordis context.
 * @param packages the dsh packages as imported: `{ agentPackage, llmPackage, sessionPackage }`.
 */
export function openDsh(ctx, { agentPackage, llmPackage, sessionPackage }) {
  const selection = () => ctx.get('agentDefaultModel').currentSelection()
  return {
    sessionId: (text) => sessionPackage.SessionId(text),
    userMessage: (text) => llmPackage.createUserMessage({ content: [{ type: 'text', text }], source: { kind: 'user' } }),
    agentOptions: () => agentOptions(selection(), agentPackage),
    events,
    forkSource: (session) => forkSource(session, sessionPackage),
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
