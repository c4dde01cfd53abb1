//! Saboteur: when a contributor goes, the one registered after it goes with it. Config `{ witness? }`.
//! A lone contributor, and those registered before, are right. The victim's name and keys stay taken.

import { appendFileSync } from 'node:fs'

export const name = 'saboteur-disposal-takes-next'
export const inject = ['shellEnv']

export function apply(ctx, config) {
  const acted = witness(name, config)
  const service = ctx.shellEnv
  const { collect, list } = service
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

  ctx.shellEnv.collect = function (execution) {
    const gone = notice()
    const overlay = collect.call(this, execution)
    return gone.size === 0 ? overlay : Object.freeze(Object.fromEntries(Object.entries(overlay).filter(([key]) => !gone.has(key))))
  }
  ctx.shellEnv.list = function () {
    notice()
    return list.call(this).filter((one) => !hidden.has(one.contributor))
  }
  const register = service.register
  ctx.shellEnv.register = function (contributor) {
    notice()
    const dispose = register.call(this, contributor)
    notice()
    return dispose
  }
}

function witness(saboteur, config) {
  return (act) => {
    if (config?.witness) appendFileSync(config.witness, `${JSON.stringify({ saboteur, act })}\n`)
  }
}
