//! Saboteur: a tool call is dispatched twice, and the second result is the one reported. Config `{ prefix?, witness? }`.
//! Breaks PLUG-14: its effect happens twice.

import { witness } from './sabotage.mjs'

export const name = 'saboteur-double-call'
export const inject = ['tools']

export function apply(ctx, config) {
  const acted = witness(name, config)
  ctx.on('tools/execute', async (exec, next) => {
    if (!exec.name.startsWith(config.prefix ?? 'mcp__plumb__')) return next()
    await next()
    acted(`dispatched ${exec.name} again`)
    return next()
  })
}
