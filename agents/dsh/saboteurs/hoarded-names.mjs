//! Saboteur: a contributor's name is never free again. Config `{ witness? }`.
//! Breaks the freeing half of REG-8, and REG-11.

import { replaceMethod, witness } from './sabotage.mjs'

export const name = 'saboteur-hoarded-names'
export const inject = ['shellEnv']

export function apply(ctx, config) {
  const acted = witness(name, config)
  const known = new Set()
  replaceMethod(ctx, ctx.shellEnv, 'register', (register, contributor) => {
    if (known.has(contributor.name)) {
      acted(`refused ${contributor.name} again`)
      throw new Error(`bash env contributor "${contributor.name}" is already registered`)
    }
    known.add(contributor.name)
    return register(contributor)
  })
}
