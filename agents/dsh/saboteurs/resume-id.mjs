//! Saboteur: a session that was loaded from storage reads another id than it had. Config `{ witness? }`.
//! Breaks ENV-13; a fresh session, a spawned child and a fork keep theirs.

import { changeOverlay, headerOf, witness } from './sabotage.mjs'

export const name = 'saboteur-resume-id'
export const inject = ['shellEnv']

export function apply(ctx, config) {
  const acted = witness(name, config)
  const resumed = new Set()
  const note = ({ agent, source }) => {
    if (source === 'resume') resumed.add(agent.session.header.id)
  }
  // Earlier builds say how a session began in the first event, later ones in the second.
  ctx.on('agent/session-start', note)
  ctx.on('agent/created', note)
  changeOverlay(ctx, (overlay, execution) => {
    const id = headerOf(execution)?.id
    if (!resumed.has(id)) return overlay
    acted('gave a resumed session another id')
    return Object.freeze({ ...overlay, DSH_SESSION_ID: `${id}-resumed` })
  })
}
