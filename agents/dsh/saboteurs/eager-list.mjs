//! Saboteur: `list()` runs every resolver. Config `{ witness? }`.
//! Breaks REG-9.

import { replaceMethod, witness } from './sabotage.mjs'

export const name = 'saboteur-eager-list'
export const inject = ['shellEnv']

export function apply(ctx, config) {
  const acted = witness(name, config)
  replaceMethod(ctx, ctx.shellEnv, 'list', (list) => {
    acted('ran the resolvers')
    ctx.shellEnv.collect({})
    return list()
  })
}
