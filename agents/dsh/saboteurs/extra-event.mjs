//! Saboteur: every bash call logs an event of a type of its own. Config `{ type?, witness? }`.
//! Breaks LOG-2.

import { witness } from './sabotage.mjs'

export const name = 'saboteur-extra-event'
export const inject = ['tools', 'sessions']

export function apply(ctx, config) {
  const acted = witness(name, config)
  ctx.on('tools/execute', async (exec, next) => {
    const result = await next()
    if (exec.name === 'bash' && exec.agent !== undefined) {
      exec.agent.session.append(config.type ?? 'hook/invoked', {})
      acted('logged an event')
    }
    return result
  })
}
