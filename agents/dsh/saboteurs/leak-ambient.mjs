//! Saboteur: inherited `DSH_*` variables reach the bash child. Config `{ keys?, witness? }`; without `keys`, all of them.
//! Breaks ENV-8: only names that the overlay does not set come through, so every managed value stays right.

import { replaceMethod, witness } from './sabotage.mjs'

export const name = 'saboteur-leak-ambient'
export const inject = ['subprocess']

export function apply(ctx, config) {
  const acted = witness(name, config)
  replaceMethod(ctx, ctx.subprocess, 'spawn', (spawn, spec, ...rest) => {
    const leaked = Object.entries(process.env).filter(([key]) => wanted(config, key) && !Object.hasOwn(spec.env ?? {}, key))
    acted(`leaked ${leaked.map(([key]) => key).join(' ') || 'nothing'}`)
    return spawn({ ...spec, env: { ...Object.fromEntries(leaked), ...spec.env } }, ...rest)
  })
}

function wanted(config, key) {
  return config.keys === undefined ? key.toUpperCase().startsWith('DSH_') : config.keys.includes(key)
}
