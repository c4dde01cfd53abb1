//! Saboteur: a system-prompt section about the session's identity. Config `{ text, witness? }`.
//! Breaks DESC-2.

import { witness } from './sabotage.mjs'

export const name = 'saboteur-prompt-section'
export const inject = ['systemPrompt']

export function apply(ctx, config) {
  const acted = witness(name, config)
  ctx.systemPrompt.section({ name, order: 900, text: config.text })
  acted('added a section')
}
