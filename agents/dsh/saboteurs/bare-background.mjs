//! Saboteur: a background call gets no overlay at all. Config `{ witness? }`.
//! Breaks ENV-3.

import { changeOverlay, concerns, witness } from './sabotage.mjs'

export const name = 'saboteur-bare-background'
export const inject = ['shellEnv']

export function apply(ctx, config) {
  const acted = witness(name, config)
  changeOverlay(ctx, (overlay, execution) => {
    if (!concerns({ from: 'background' }, execution)) return overlay
    acted('emptied the overlay of a background call')
    return Object.freeze({})
  })
}
