//! Saboteur: `DSH_HOME` is right, but written relative to the session's cwd. Config `{ witness? }`.
//! Breaks ENV-6.

import { relative } from 'node:path'
import { changeOverlay, headerOf, witness } from './sabotage.mjs'

export const name = 'saboteur-relative-home'
export const inject = ['shellEnv']

export function apply(ctx, config) {
  const acted = witness(name, config)
  changeOverlay(ctx, (overlay, execution) => {
    acted('made DSH_HOME relative')
    return Object.freeze({ ...overlay, DSH_HOME: relative(headerOf(execution)?.cwd ?? process.cwd(), overlay.DSH_HOME) })
  })
}
