//! Saboteur: a child session reads its parent's id. Config `{ witness? }`.
//! Breaks ENV-11 and ENV-14, and nothing of a session without a parent.

import { changeOverlay, concerns, headerOf, witness } from './sabotage.mjs'

export const name = 'saboteur-parent-id'
export const inject = ['shellEnv']

export function apply(ctx, config) {
  const acted = witness(name, config)
  changeOverlay(ctx, (overlay, execution) => {
    if (!concerns({ from: 'child' }, execution)) return overlay
    acted('gave a child the id of its parent')
    return Object.freeze({ ...overlay, DSH_SESSION_ID: headerOf(execution).parentSession })
  })
}
