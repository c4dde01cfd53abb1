//! Saboteur: when a contributor goes, the one registered after it goes with it. Config `{ witness? }`.
//! A lone contributor, and those registered before, are right. The victim's name and keys stay taken.

import { changeOverlay, replaceMethod, witness } from './sabotage.mjs'

export const name = 'saboteur-disposal-takes-next'
export const inject = ['shellEnv']

export function apply(ctx, config) {
  const acted = witness(name, config)
  const service = ctx.shellEnv
  const declared = () => new Map([...service.contributors.values()].map((one) => [one.name, Object.keys(one.variables)]))
  const hidden = new Set()
  let seen = [...declared().keys()]

  function notice() {
    const now = declared()
    seen.forEach((one, at) => {
      const next = seen[at + 1]
      if (now.has(one)) return
      if (!hidden.delete(one) && next !== undefined && now.has(next)) {
        hidden.add(next)
        acted(`dropped ${next} together with ${one}`)
      }
    })
    seen = [...now.keys()]
    return new Set([...hidden].flatMap((one) => now.get(one) ?? []))
  }

  changeOverlay(ctx, (overlay) => {
    const gone = notice()
    return gone.size === 0 ? overlay : Object.freeze(Object.fromEntries(Object.entries(overlay).filter(([key]) => !gone.has(key))))
  })
  replaceMethod(ctx, service, 'list', (list) => {
    notice()
    return list().filter((one) => !hidden.has(one.contributor))
  })
  replaceMethod(ctx, service, 'register', (register, contributor) => {
    notice()
    const dispose = register(contributor)
    notice()
    return dispose
  })
}
