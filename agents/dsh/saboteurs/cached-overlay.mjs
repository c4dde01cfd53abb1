//! Saboteur: the overlay is computed once for each session and kept. Config `{ witness? }`.
//! Breaks REG-10, REG-11 and, with a changed backend, ENV-23.

import { changeOverlay, headerOf, witness } from './sabotage.mjs'

export const name = 'saboteur-cached-overlay'
export const inject = ['shellEnv']

export function apply(ctx, config) {
  const acted = witness(name, config)
  const kept = new Map()
  changeOverlay(ctx, (overlay, execution) => {
    const id = headerOf(execution)?.id
    if (!kept.has(id)) kept.set(id, overlay)
    else acted('served a kept overlay')
    return kept.get(id)
  })
}
