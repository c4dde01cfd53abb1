//! Probe: which fields of dsh's `exec` hold what the identity plugin reads. Config `{ witness }`.
//! Mounted by `dsh-e2e doctor`; writes one JSON line for each tool call: `{ caller, fields }`. Never changes a call.

import { appendFileSync } from 'node:fs'
import { FIELDS, readCaller } from '../identity/agent.mjs'

export const name = 'dsh-e2e-field-map'
export const inject = ['tools']

export function apply(ctx, config) {
  ctx.on('tools/execute', (exec, next) => {
    const { moved } = readCaller(exec)
    const fields = FIELDS.map((field) => ({ ...field, is: kindOf(at(exec, field.path)), moved: moved.includes(field) }))
    appendFileSync(config.witness, `${JSON.stringify({ caller: whoCalls(exec), fields })}\n`)
    return next()
  })
}

const at = (value, path) => path.split('.').reduce((found, key) => found?.[key], value)
const kindOf = (value) => (value === undefined || value === null ? 'nothing' : Array.isArray(value) ? 'list' : typeof value)

function whoCalls(exec) {
  if (exec.agent === undefined) return 'nobody'
  return exec.agent.session?.header?.parentSession === undefined ? 'conversation' : 'subagent'
}
