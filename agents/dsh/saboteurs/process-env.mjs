//! Saboteur: each call writes its overlay into dsh's own environment. Config `{ witness? }`.
//! Breaks ENV-15; the child itself still gets the right values.

import { changeOverlay, witness } from './sabotage.mjs'

export const name = 'saboteur-process-env'
export const inject = ['shellEnv']

export function apply(ctx, config) {
  const acted = witness(name, config)
  changeOverlay(ctx, (overlay) => {
    acted('wrote the overlay into process.env')
    Object.assign(process.env, overlay)
    return overlay
  })
}
