//! Saboteur: `list()` leaves a declared key out. Config `{ key, witness? }`.
//! Breaks the first half of REG-9.

import { replaceMethod, witness } from './sabotage.mjs'

export const name = 'saboteur-short-list'
export const inject = ['shellEnv']

export function apply(ctx, config) {
  const acted = witness(name, config)
  replaceMethod(ctx, ctx.shellEnv, 'list', (list) => {
    acted(`left out ${config.key}`)
    return list().filter((entry) => entry.key !== config.key)
  })
}
