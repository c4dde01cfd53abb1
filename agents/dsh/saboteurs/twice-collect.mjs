//! Saboteur: every overlay is computed twice and the second one is given out. Config `{ witness? }`.
//! Breaks REG-10 and, where a resolver counts, the snapshot of ENV-12.

import { replaceMethod, witness } from './sabotage.mjs'

export const name = 'saboteur-twice-collect'
export const inject = ['shellEnv']

export function apply(ctx, config) {
  const acted = witness(name, config)
  replaceMethod(ctx, ctx.shellEnv, 'collect', (collect, execution) => {
    collect(execution)
    acted('computed an overlay twice')
    return collect(execution)
  })
}
