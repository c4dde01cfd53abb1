//! Saboteur: a delegated session does not name its parent. Config `{ witness? }`.
//! Breaks the lineage of ENV-14; its id is its own.

import { replaceMethod, witness } from './sabotage.mjs'

export const name = 'saboteur-orphan'
export const inject = ['agents']

export function apply(ctx, config) {
  const acted = witness(name, config)
  replaceMethod(ctx, ctx.agents, 'create', (create, options) => {
    if (options?.meta?.parentSession === undefined) return create(options)
    acted('left the parent out')
    const { parentSession: _parent, ...meta } = options.meta
    return create({ ...options, meta })
  })
}
