//! Saboteur: the first session's id is everybody's, as if it lay in a variable of the process. Config `{ witness? }`.
//! Breaks ENV-29 and ENV-11; a run with one session shows nothing.

import { changeOverlay, headerOf, witness } from './sabotage.mjs'

export const name = 'saboteur-global-id'
export const inject = ['shellEnv']

export function apply(ctx, config) {
  const acted = witness(name, config)
  let first
  changeOverlay(ctx, (overlay, execution) => {
    const id = headerOf(execution)?.id
    if (id === undefined) return overlay
    first ??= id
    if (id !== first) acted('gave a session the first session id')
    return Object.freeze({ ...overlay, DSH_SESSION_ID: first })
  })
}
