//! The world of the tests: an honest overlay service, the context around it, and a row mounted in it.
//! Must never lie: what is wrong in a test comes from the row.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const ROOT = execution({ id: 'root', cwd: '/w' })
export const CHILD = execution({ id: 'child', cwd: '/w', parentSession: 'root' })
export const BACKGROUND = { ...ROOT, arguments: { run_in_background: true } }
export const AGENTLESS = { arguments: {} }

export function execution(header) {
  return { agent: { session: { header } }, arguments: {} }
}

/** An honest overlay service and the context around it. */
function honest(extra = {}) {
  const undo = []
  const listeners = {}
  const ctx = {
    shellEnv: {
      collect: ({ agent }) => Object.freeze({ DSH_HOME: '/w/home', DSH_SHELL: '1', ...(agent === undefined ? {} : { DSH_SESSION_ID: agent.session.header.id }), ...extra.values?.() }),
      list: () => extra.declared?.() ?? [],
    },
    effect: (start) => undo.push(start()),
    on: (event, listener) => (listeners[event] = listener),
    ...extra.services,
  }
  return { ctx, listeners, dispose: () => undo.forEach((stop) => stop()) }
}

/** A row mounted in a world of its own; `extra` is what that world has beside the overlay. */
export async function mounted(t, row, config = {}, extra) {
  const folder = mkdtempSync(join(tmpdir(), 'saboteur-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const witness = join(folder, 'witness.jsonl')
  const world = honest(extra)
  const before = world.ctx.shellEnv.collect
  const { apply } = await import(`../${row}.mjs`)
  apply(world.ctx, { ...config, witness })
  const acts = () => {
    try {
      return readFileSync(witness, 'utf8').trim().split('\n').map((line) => JSON.parse(line).act)
    } catch {
      return []
    }
  }
  return { ...world, collect: (call) => world.ctx.shellEnv.collect(call), before, acts }
}
