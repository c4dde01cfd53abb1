//! Saboteur: a refused registration leaves a contributor behind. Config `{ key, witness? }`.
//! Breaks REG-12; the refusal itself stays loud.

import { replaceMethod, witness } from './sabotage.mjs'

export const name = 'saboteur-leftover-registration'
export const inject = ['shellEnv']

export function apply(ctx, config) {
  const acted = witness(name, config)
  let left = false
  replaceMethod(ctx, ctx.shellEnv, 'register', (register, contributor) => {
    try {
      return register(contributor)
    } catch (error) {
      if (!left) {
        left = true
        acted(`left ${config.key}`)
        register({ name, variables: { [config.key]: { description: 'Left over.' } }, resolve: () => ({ [config.key]: 'left over' }) })
      }
      throw error
    }
  })
}
