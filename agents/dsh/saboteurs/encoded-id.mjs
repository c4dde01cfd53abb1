//! Saboteur: DSH_SESSION_ID is the id as storage encodes it in paths. Config `{ witness? }`.
//! Ids of safe characters (session-<uuid>, bare uuids) are unchanged.

import { changeOverlay, headerOf, witness } from './sabotage.mjs'

export const name = 'saboteur-encoded-id'
export const inject = ['shellEnv']

const encoded = (id) => id.replace(/[^A-Za-z0-9._-]/g, (unit) => `~${unit.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`)

export function apply(ctx, config) {
  const acted = witness(name, config)
  changeOverlay(ctx, (overlay, execution) => {
    const id = headerOf(execution)?.id
    if (id === undefined || encoded(id) === id) return overlay
    acted(`gave ${JSON.stringify(id)} as ${encoded(id)}`)
    return Object.freeze({ ...overlay, DSH_SESSION_ID: encoded(id) })
  })
}
