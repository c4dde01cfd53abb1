//! Saboteur: these variables have the last word over every layer. Config `{ env, witness? }`.
//! Breaks ENV-27 for the names it is given; managed names it leaves to `force-key`.

import { replaceMethod, witness } from './sabotage.mjs'

export const name = 'saboteur-force-env'
export const inject = ['subprocess']

export function apply(ctx, config) {
  const acted = witness(name, config)
  replaceMethod(ctx, ctx.subprocess, 'spawn', (spawn, spec, ...rest) => {
    acted(`forced ${Object.keys(config.env).join(' ')}`)
    return spawn({ ...spec, env: { ...spec.env, ...config.env } }, ...rest)
  })
}
