//! Saboteur: a managed key is missing from the overlay. Config `{ key, from?, witness? }`.
//! Breaks ENV-1 to ENV-6 for the key it is given; nothing else is touched.

import { changeOverlay, concerns, witness } from './sabotage.mjs'

export const name = 'saboteur-drop-key'
export const inject = ['shellEnv']

export function apply(ctx, config) {
  const acted = witness(name, config)
  changeOverlay(ctx, (overlay, execution) => {
    if (!concerns(config, execution) || !Object.hasOwn(overlay, config.key)) return overlay
    acted(`dropped ${config.key}`)
    const { [config.key]: _dropped, ...rest } = overlay
    return Object.freeze(rest)
  })
}
