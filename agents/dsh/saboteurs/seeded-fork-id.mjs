//! Saboteur: a fork that inherited history reads the id of the session it was forked from. Config `{ witness? }`.
//! Spawned children, and forks in a first turn (nothing to inherit), are right.

import { changeOverlay, headerOf, witness } from './sabotage.mjs'

export const name = 'saboteur-seeded-fork-id'
export const inject = ['shellEnv']

export function apply(ctx, config) {
  const acted = witness(name, config)
  changeOverlay(ctx, (overlay, execution) => {
    const header = headerOf(execution)
    const seeded = header?.isSeeded === true || header?.seedLength > 0
    if (!seeded || header.parentSession === undefined) return overlay
    acted(`gave fork ${header.id} the id ${header.parentSession}`)
    return Object.freeze({ ...overlay, DSH_SESSION_ID: header.parentSession })
  })
}
