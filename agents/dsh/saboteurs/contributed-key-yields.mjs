//! Saboteur: an explicit env entry displaces a managed value when a contributor owns the key. Config `{ witness? }`.
//! Built-in keys (DSH_HOME, DSH_SHELL, DSH_SESSION_ID, ...) still win over env.

import { replaceMethod, witness } from './sabotage.mjs'

export const name = 'saboteur-contributed-key-yields'
export const inject = ['shell', 'shellEnv']

export function apply(ctx, config) {
  const acted = witness(name, config)
  const contributed = () => new Set(ctx.shellEnv.list().map((one) => one.key))
  replaceMethod(ctx, ctx.shell, 'resolve', (resolve, request, ...rest) => {
    const { env, dshEnv } = request
    if (env === undefined || dshEnv === undefined) return resolve(request, ...rest)
    const owned = contributed()
    const yields = Object.keys(dshEnv).filter((key) => Object.hasOwn(env, key) && owned.has(key))
    if (yields.length === 0) return resolve(request, ...rest)
    acted(`let env displace ${yields.join(' ')}`)
    const kept = Object.freeze(Object.fromEntries(Object.entries(dshEnv).filter(([key]) => !yields.includes(key))))
    return resolve({ ...request, dshEnv: kept }, ...rest)
  })
}
