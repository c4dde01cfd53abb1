//! Saboteur: the overlay can be changed after it was given out. Config `{ witness? }`.
//! Breaks the frozen half of ENV-12; every value stays right.

import { changeOverlay, witness } from './sabotage.mjs'

export const name = 'saboteur-thawed-overlay'
export const inject = ['shellEnv']

export function apply(ctx, config) {
  const acted = witness(name, config)
  changeOverlay(ctx, (overlay) => {
    acted('gave out an overlay that is not frozen')
    return { ...overlay }
  })
}
