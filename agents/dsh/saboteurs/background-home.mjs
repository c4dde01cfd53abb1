//! Saboteur: a background call resolves DSH_HOME without the explicit dshHome: ambient $DSH_HOME, then ~/.dsh. Config `{ witness? }`.
//! Foreground calls are right, and so is everything when no dshHome is configured.

import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { changeOverlay, witness } from './sabotage.mjs'

export const name = 'saboteur-background-home'
export const inject = ['shellEnv']

function withoutExplicit() {
  const ambient = process.env.DSH_HOME?.trim()
  if (!ambient) return resolve(homedir(), '.dsh')
  return resolve(ambient === '~' || ambient.startsWith('~/') ? homedir() + ambient.slice(1) : ambient)
}

export function apply(ctx, config) {
  const acted = witness(name, config)
  const home = withoutExplicit()
  changeOverlay(ctx, (overlay, execution) => {
    if (execution?.arguments?.run_in_background !== true || overlay.DSH_HOME === home) return overlay
    acted(`gave a background call ${home}, not ${overlay.DSH_HOME}`)
    return Object.freeze({ ...overlay, DSH_HOME: home })
  })
}
