//! Saboteur: a call without an agent falls back to the DSH_SESSION_ID dsh itself was started with (a nested harness).
//! Config `{ witness? }`. Calls with an agent are right; without an ambient id nothing happens.

import { changeOverlay, headerOf, witness } from './sabotage.mjs'

export const name = 'saboteur-agentless-ambient-id'
export const inject = ['shellEnv']

export function apply(ctx, config) {
  const acted = witness(name, config)
  const outer = process.env.DSH_SESSION_ID
  changeOverlay(ctx, (overlay, execution) => {
    if (headerOf(execution) !== undefined || !outer) return overlay
    acted(`gave a call without an agent the ambient id ${outer}`)
    return Object.freeze({ ...overlay, DSH_SESSION_ID: outer })
  })
}
