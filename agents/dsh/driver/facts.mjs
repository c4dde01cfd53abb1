//! Operations on the process itself: its environment, waiting for an event, opening a gate, leaving.
//! Called by the interpreter. Must never change the environment, and never write a value that is not a DSH_* one.

import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { within } from './deadline.mjs'
import { ExitRequested } from './interpreter.mjs'
import { named } from './room.mjs'

/** `process_env`: DSH_* with values, a digest of the whole, and the names that changed since the last look. */
export async function processEnv(op, room) {
  const entries = Object.entries(process.env).sort(([left], [right]) => (left < right ? -1 : 1))
  const digests = new Map(entries.map(([key, value]) => [key, digest(value)]))
  const previous = room.environment
  room.environment = digests
  return {
    dsh: Object.fromEntries(entries.filter(([key]) => key.toUpperCase().startsWith('DSH_'))),
    count: entries.length,
    digest: digest(entries.map(([key, value]) => `${key}=${value}\0`).join('')),
    changed: previous === undefined ? [] : changed(previous, digests),
  }
}

/** `until {session, event, count?, within_ms?}`: until that session's log holds so many events of a type. */
export async function until(op, room) {
  const { session } = named(room.sessions, 'session', op.session).agent
  const wanted = op.count ?? 1
  const seen = () => room.dsh.events(session).filter((event) => event.type === op.event).length
  let stop
  const come = new Promise((resolve) => {
    const look = () => {
      if (seen() >= wanted) resolve()
    }
    stop = room.ctx.on('session/event', look)
    look()
  })
  try {
    await within(op, come, () => `${seen()} of ${wanted} "${op.event}" events`)
  } finally {
    stop()
  }
  return { seen: seen() }
}

/** `touch {path}`: create a file that a command is waiting for. */
export async function touch(op) {
  writeFileSync(op.path, op.text ?? '', { flag: 'wx' })
  return { path: op.path }
}

/** `exit {code}`: end the list here and ask dsh to exit with this code. */
export async function exit(op) {
  throw new ExitRequested(op.code ?? 0)
}

function changed(before, after) {
  const names = new Set([...before.keys(), ...after.keys()])
  return [...names].filter((key) => before.get(key) !== after.get(key)).sort()
}

function digest(text) {
  return createHash('sha256').update(text).digest('hex')
}
