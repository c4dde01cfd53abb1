//! Saboteur: the bash tool's description has a sentence more. Config `{ append, from?: all | child, witness? }`.
//! Changed before the request is built, so the log agrees with the wire: breaks DESC-1 (`all`) or DESC-3 (`child`), not LOG-1.

import { witness } from './sabotage.mjs'

export const name = 'saboteur-description'
export const inject = ['systemPrompt', 'agents']

export function apply(ctx, config) {
  const acted = witness(name, config)
  ctx.on('system-prompt/assemble', async (_assembly, context, next) => {
    const assembled = await next()
    const header = context.scope?.session?.header
    if (config.from === 'child' && header?.parentSession === undefined) return assembled
    acted('changed the description')
    const tools = assembled.tools.map((tool) => (tool.name === 'bash' ? { ...tool, description: tool.description + config.append } : tool))
    return { ...assembled, tools }
  })
}
