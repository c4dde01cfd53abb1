//! Saboteur: an explicit `env` entry of a caller beats the managed value. Config `{ witness? }`.
//! Breaks ENV-9 and ENV-27.

import { replaceMethod, witness } from './sabotage.mjs'

export const name = 'saboteur-caller-env-wins'
export const inject = ['shell']

export function apply(ctx, config) {
  const acted = witness(name, config)
  replaceMethod(ctx, ctx.shell, 'resolve', (resolve, request) => {
    if (request.env === undefined) return resolve(request)
    acted(`let ${Object.keys(request.env).join(' ')} win`)
    return resolve({ ...request, dshEnv: { ...request.dshEnv, ...request.env } })
  })
}
