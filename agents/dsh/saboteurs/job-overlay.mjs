//! Saboteur: while a background job of a session runs, later calls of that session are given the job's overlay.
//! Config `{ witness? }`. Without a running job each call has its own; other sessions are untouched.

import { changeOverlay, headerOf, replaceMethod, witness } from './sabotage.mjs'

export const name = 'saboteur-job-overlay'
export const inject = ['shellEnv', 'subprocess']

export function apply(ctx, config) {
  const acted = witness(name, config)
  const starting = new Map()
  const running = new Map()
  replaceMethod(ctx, ctx.subprocess, 'spawn', (spawn, spec, ...rest) => {
    const child = spawn(spec, ...rest)
    const id = spec?.env?.DSH_SESSION_ID
    const overlay = starting.get(id)
    if (overlay === undefined) return child
    starting.delete(id)
    running.set(id, overlay)
    const over = () => running.get(id) === overlay && running.delete(id)
    child.done.then(over, over)
    return child
  })
  changeOverlay(ctx, (overlay, execution) => {
    const id = headerOf(execution)?.id
    if (id === undefined) return overlay
    const job = running.get(id)
    if (job === undefined) {
      if (execution.arguments?.run_in_background === true) starting.set(id, overlay)
      return overlay
    }
    if (JSON.stringify(job) !== JSON.stringify(overlay)) acted(`gave call ${execution.callId} the overlay of a running job`)
    return job
  })
}
