//! Saboteur: a call without an agent gets the id of the session that called last. Config `{ witness? }`.
//! Breaks ENV-4.

import { changeOverlay, headerOf, witness } from './sabotage.mjs'

export const name = 'saboteur-agentless-id'
export const inject = ['shellEnv']

export function apply(ctx, config) {
  const acted = witness(name, config)
  let last
  changeOverlay(ctx, (overlay, execution) => {
    last = headerOf(execution)?.id ?? last
    if (headerOf(execution) !== undefined || last === undefined) return overlay
    acted('gave a call without an agent an id')
    return Object.freeze({ ...overlay, DSH_SESSION_ID: last })
  })
}
