//! Saboteur: an overlay is computed with the execution of the call before. Config `{ witness? }`.
//! Breaks REG-10, and the id with it; the first call is right.

import { replaceMethod, witness } from './sabotage.mjs'

export const name = 'saboteur-last-execution'
export const inject = ['shellEnv']

export function apply(ctx, config) {
  const acted = witness(name, config)
  let last
  replaceMethod(ctx, ctx.shellEnv, 'collect', (collect, execution) => {
    const used = last ?? execution
    if (used !== execution) acted('used the execution of the call before')
    last = execution
    return collect(used)
  })
}
