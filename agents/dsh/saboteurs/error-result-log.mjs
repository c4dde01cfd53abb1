//! Saboteur: the log keeps only `Error` of a failed tool result; the model saw the whole text. Config `{ witness? }`.
//! Results that are no errors, a nonzero exit of a command among them, are logged in full.

import { replaceMethod, witness } from './sabotage.mjs'

export const name = 'saboteur-error-result-log'
export const inject = ['sessionPersistence']

export function apply(ctx, config) {
  const acted = witness(name, config)
  let owner = ctx.sessionPersistence
  while (owner !== null && !Object.hasOwn(owner, 'encodeEventBatch')) owner = Object.getPrototypeOf(owner)
  if (owner === null) throw new Error('no JSONL persistence to sabotage')
  replaceMethod(ctx, owner, 'encodeEventBatch', (encode, events) => encode(events.map(shortened)))
  replaceMethod(ctx, owner, 'encodeMaterialization', (encode, ...args) => encode(...args.slice(0, -1), args.at(-1).map(shortened)))

  function shortened(event) {
    if (event.type !== 'tool/result') return event
    const { message } = event.data
    if (message.isError !== true && !message.content.some((part) => part.isError === true)) return event
    acted(`shortened the failed result at seq ${event.seq}`)
    const bare = (parts) => parts.map((part) => (part.type === 'text' ? { ...part, text: 'Error' } : part.isError === true ? { ...part, content: bare(part.content) } : part))
    return { ...event, data: { ...event.data, message: { ...message, content: bare(message.content) } } }
  }
}
