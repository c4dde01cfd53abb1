//! Saboteur: a fork that inherited history reads the id of the session it was forked from. Config `{ witness? }`.
//! Spawned children, and forks in a first turn (nothing to inherit), are right.

import { appendFileSync } from 'node:fs'

export const name = 'saboteur-seeded-fork-id'
export const inject = ['shellEnv']

export function apply(ctx, config) {
  const acted = witness(name, config)
  changeOverlay(ctx, (overlay, execution) => {
    const header = headerOf(execution)
    const seeded = header?.isSeeded === true || header?.seedLength > 0
    if (!seeded || header.parentSession === undefined) return overlay
    acted(`gave fork ${header.id} the id ${header.parentSession}`)
    return Object.freeze({ ...overlay, DSH_SESSION_ID: header.parentSession })
  })
}

const headerOf = (execution) => execution?.agent?.session?.header

function changeOverlay(ctx, change) {
  const service = ctx.shellEnv
  const collect = service.collect
  service.collect = function (execution) {
    return change(collect.call(this, execution), execution)
  }
}

function witness(saboteur, config) {
  return (act) => {
    if (config?.witness) appendFileSync(config.witness, `${JSON.stringify({ saboteur, act })}\n`)
  }
}
