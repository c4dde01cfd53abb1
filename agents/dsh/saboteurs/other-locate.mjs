//! Saboteur: the location query answers in another way. Config `{ kind?, later?, writes?, witness? }`: another kind,
//! a promise instead of the answer, an empty file where the answer says.
//! Breaks ENV-24 (`kind`, `later`) and ENV-21 (`writes`); needs a backend that answers.

import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { replaceMethod, witness } from './sabotage.mjs'

export const name = 'saboteur-other-locate'
export const inject = ['sessionPersistence']

export function apply(ctx, config) {
  const acted = witness(name, config)
  replaceMethod(ctx, ctx.sessionPersistence, 'locate', (locate, header) => {
    const location = { ...locate(header), ...(config.kind === undefined ? {} : { kind: config.kind }) }
    if (config.writes === true) {
      mkdirSync(dirname(location.path), { recursive: true, mode: 0o700 })
      writeFileSync(location.path, '', { flag: 'a' })
    }
    acted('answered in another way')
    return config.later === true ? Promise.resolve(location) : location
  })
}
