//! Saboteur: the registry takes what it must refuse, in silence. Config `{ at: registration | call, witness? }`.
//! `registration` breaks REG-2 to REG-5 (ENV stays right), `call` breaks REG-6 and REG-7.

import { replaceMethod, witness } from './sabotage.mjs'

export const name = 'saboteur-lenient-registry'
export const inject = ['shellEnv']

export function apply(ctx, config) {
  const acted = witness(name, config)
  const swallow = (work, instead) => {
    try {
      return work()
    } catch (error) {
      acted(`swallowed: ${error.message}`)
      return instead
    }
  }
  let last = Object.freeze({})
  const replacements = {
    registration: () => replaceMethod(ctx, ctx.shellEnv, 'register', (register, contributor) => swallow(() => register(contributor), () => {})),
    call: () => replaceMethod(ctx, ctx.shellEnv, 'collect', (collect, execution) => (last = swallow(() => collect(execution), last))),
  }
  const replace = replacements[config.at]
  if (replace === undefined) throw new TypeError('at must be "registration" or "call"')
  replace()
}
