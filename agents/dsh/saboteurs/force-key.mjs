//! Saboteur: a key of the overlay has a value of the row's choosing. Config `{ key, value, from?, witness? }`.
//! Breaks the clause of that key: ENV-5 (`DSH_SHELL`), ENV-6 (a relative `DSH_HOME`), ENV-18 (`DSH_SESSION_JSONL`), ENV-4 (`from: agentless`).

import { changeOverlay, concerns, witness } from './sabotage.mjs'

export const name = 'saboteur-force-key'
export const inject = ['shellEnv']

export function apply(ctx, config) {
  const acted = witness(name, config)
  changeOverlay(ctx, (overlay, execution) => {
    if (!concerns(config, execution)) return overlay
    acted(`forced ${config.key}`)
    return Object.freeze({ ...overlay, [config.key]: config.value })
  })
}
