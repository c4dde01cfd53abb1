//! Operations on persistence: locate, swap the backend's row, mount a stub backend, read the session file.
//! Called by the interpreter. Must never create, flush or touch a session artifact itself.

import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { readLog } from './log-file.mjs'
import { listing } from './listing.mjs'
import { keep, named } from './room.mjs'

const JSONL_ROW = 'session-persistence-jsonl'

/**
 * `locate {session, watch?}`: ask the persistence service where that session's log is.
 * Reports who offers the query, its answer, whether it came synchronously, and what changed on disk meanwhile.
 */
export async function locate(op, room) {
  const service = room.ctx.get('sessionPersistence')
  if (service === undefined) return { service: false, offered_by: [] }
  const offeredBy = owners(service, 'locate')
  if (offeredBy.length === 0) return { service: true, offered_by: [] }
  const { header } = named(room.sessions, 'session', op.session).agent.session
  const roots = op.watch ?? [sessionsRoot(room)]
  const before = listing(roots)
  const answer = service.locate(header)
  const after = listing(roots)
  const asynchronous = typeof answer?.then === 'function'
  const location = (await answer) ?? null
  return { service: true, offered_by: offeredBy, asynchronous, location, exists: exists(location?.path), before, after, unchanged: JSON.stringify(before) === JSON.stringify(after) }
}

/**
 * `persistence_swap {row?, disabled? | config?}`: change the backend's row while running.
 * Reports the service before and after, by the name of its class.
 */
export async function persistenceSwap(op, room) {
  const id = op.row ?? JSONL_ROW
  const entry = [...room.ctx.get('loader').entries()].find((candidate) => candidate.options.id === id)
  if (entry === undefined) throw new ReferenceError(`no row "${id}" in this composition`)
  const before = backend(room)
  await entry.update({
    ...(op.config === undefined ? {} : { config: op.config }),
    ...(op.disabled === undefined ? {} : { disabled: op.disabled || null }),
  })
  await room.ctx.get('loader').await()
  return { before, after: backend(room) }
}

/**
 * `persistence_stub {stub, kind?, path?}`: mount a backend that keeps nothing and answers `locate` with
 * `{kind, path}`, or with nothing when no kind is given. The real one must be off first: dsh refuses two.
 */
export async function persistenceStub(op, room) {
  const before = backend(room)
  const location = op.kind === undefined ? undefined : { kind: op.kind, path: op.path }
  const fiber = room.ctx.plugin({ name: `driver-stub-${op.stub}`, apply: (own) => void room.dsh.stubBackend(own, location) })
  await fiber.await()
  keep(room.backends, 'stub backend', op.stub, fiber)
  return { before, after: backend(room) }
}

/** `persistence_unstub {stub}`: take it away again. */
export async function persistenceUnstub(op, room) {
  const before = backend(room)
  await named(room.backends, 'stub backend', op.stub).dispose()
  room.backends.delete(op.stub)
  return { before, after: backend(room) }
}

/** `open_file {session, path?}`: what the session's file holds at this moment, without waiting or flushing. */
export async function openFile(op, room) {
  const { header } = named(room.sessions, 'session', op.session).agent.session
  const located = room.ctx.get('sessionPersistence')?.locate?.(header)?.path
  const path = op.path ?? (exists(located) ? located : (findLog(sessionsRoot(room), header.id) ?? located))
  if (!exists(path)) return { path: path ?? null, exists: false }
  return { path, exists: true, mode: (statSync(path).mode & 0o777).toString(8), ...readLog(path, readFileSync(path)) }
}

/** The classes along the prototype chain that own a method: the backend's own, or the service definition's. */
function owners(service, method) {
  const found = []
  for (let link = service; link !== null && link !== Object.prototype; link = Object.getPrototypeOf(link)) {
    if (Object.hasOwn(link, method)) found.push(link === service ? '(own)' : link.constructor.name)
  }
  return found
}

function backend(room) {
  return room.ctx.get('sessionPersistence')?.constructor.name ?? null
}

function sessionsRoot(room) {
  return join(room.ctx.get('shellEnv').collect({}).DSH_HOME, 'sessions')
}

/** The one log whose first line carries this id: directory names are an encoding we do not repeat. */
function findLog(root, id) {
  const logs = listing([root]).filter((entry) => /\/session[^/]*\.jsonl(\.zstd)?$/.test(entry.path))
  return logs.map((entry) => entry.path).find((path) => readLog(path, readFileSync(path)).header?.id === id)
}

function exists(path) {
  return typeof path === 'string' && statSync(path, { throwIfNoEntry: false }) !== undefined
}
