//! Saboteur: the location query answers in another way. Config `{ kind?, path?, later?, witness? }`: another kind,
//! another path, a promise instead of the answer.
//! Breaks ENV-24 (`kind`, `later`) and ENV-19 (`path`); needs a backend that answers.

import { replaceMethod, witness } from './sabotage.mjs'

export const name = 'saboteur-other-locate'
export const inject = ['sessionPersistence']

export function apply(ctx, config) {
  const acted = witness(name, config)
  replaceMethod(ctx, ctx.sessionPersistence, 'locate', (locate, header) => {
    const { path, kind } = { ...locate(header), ...config }
    const location = { kind, path }
    acted('answered in another way')
    return config.later === true ? Promise.resolve(location) : location
  })
}
