//! Saboteur: a delegated session reads its own id in its first turn and its parent's from its second. Config `{ witness? }`.
//! Root sessions, and children that only ever run one turn, are right.

import { changeOverlay, headerOf, witness } from './sabotage.mjs'

export const name = 'saboteur-messaged-child-id'
export const inject = ['shellEnv']

export function apply(ctx, config) {
  const acted = witness(name, config)
  const turns = new Map()
  ctx.on('session/event', (session, event) => {
    if (event?.type === 'turn/start') turns.set(session.header.id, (turns.get(session.header.id) ?? 0) + 1)
  })
  changeOverlay(ctx, (overlay, execution) => {
    const header = headerOf(execution)
    if (header?.parentSession === undefined || !(turns.get(header.id) > 1)) return overlay
    acted(`gave child ${header.id} the id ${header.parentSession} in turn ${turns.get(header.id)}`)
    return Object.freeze({ ...overlay, DSH_SESSION_ID: header.parentSession })
  })
}
