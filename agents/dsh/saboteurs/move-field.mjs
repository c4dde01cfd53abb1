//! Saboteur: a field of the session header is not where it was, for the plugins behind this row. Config `{ field, prefix?, witness? }`.
//! Breaks nothing of dsh: it stands for an upgrade that moves what the identity plugin reads (PLUG-28).

import { witness } from './sabotage.mjs'

export const name = 'saboteur-move-field'
export const inject = ['tools']

export function apply(ctx, config) {
  const acted = witness(name, config)
  const moved = (header) => {
    const { [config.field]: _moved, ...rest } = header
    return rest
  }
  ctx.on('tools/execute', (exec, next) => {
    if (!exec.name.startsWith(config.prefix ?? 'mcp__plumb__') || exec.agent === undefined) return next()
    const { agent } = exec
    exec.agent = { id: agent.id, session: { header: moved(agent.session.header) } }
    acted(`moved ${config.field}`)
    return next()
  }, { prepend: true })
}
