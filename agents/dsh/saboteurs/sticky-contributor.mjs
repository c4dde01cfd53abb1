//! Saboteur: a key outlives its contributor, with its last value. Config `{ witness? }`.
//! Breaks REG-8 and the second half of REG-11.

import { changeOverlay, witness } from './sabotage.mjs'

export const name = 'saboteur-sticky-contributor'
export const inject = ['shellEnv']

export function apply(ctx, config) {
  const acted = witness(name, config)
  const seen = new Map()
  changeOverlay(ctx, (overlay) => {
    const declared = ctx.shellEnv.list().map((entry) => entry.key)
    for (const key of declared) if (Object.hasOwn(overlay, key)) seen.set(key, overlay[key])
    const gone = [...seen].filter(([key]) => !declared.includes(key))
    if (gone.length > 0) acted(`kept ${gone.map(([key]) => key).join(' ')}`)
    return Object.freeze({ ...overlay, ...Object.fromEntries(gone) })
  })
}
