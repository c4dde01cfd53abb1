//! Saboteur: asking where the log is creates its folder. Config `{ witness? }`.
//! Breaks ENV-21; needs a backend that answers.

import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { replaceMethod, witness } from './sabotage.mjs'

export const name = 'saboteur-writing-locate'
export const inject = ['sessionPersistence']

export function apply(ctx, config) {
  const acted = witness(name, config)
  replaceMethod(ctx, ctx.sessionPersistence, 'locate', (locate, header) => {
    const location = locate(header)
    acted('created the folder')
    mkdirSync(dirname(location.path), { recursive: true, mode: 0o700 })
    return location
  })
}
