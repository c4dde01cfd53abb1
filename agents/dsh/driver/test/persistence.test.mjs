//! Locate, the stub backend, and reading a log as it lies on disk.

import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import * as zlib from 'node:zlib'
import { readLog } from '../log-file.mjs'
import { operations } from '../operations.mjs'
import { stubBackendClass } from '../stub-backend.mjs'
import { stubRoom } from '../stub/dsh.mjs'

const run = (room, op) => operations[op.op](op, room)
const HEADER = '{"type":"session","version":4,"id":"one"}\n'
const EVENT = '{"type":"turn/start","seq":0,"data":{}}\n'

function folder(t) {
  const path = mkdtempSync(join(tmpdir(), 'driver-'))
  t.after(() => rmSync(path, { recursive: true }))
  return path
}

async function located(t, locate) {
  const root = folder(t)
  class Backend {
    locate(header) {
      return locate(root, header)
    }
  }
  const room = stubRoom({ sessionPersistence: new Backend() })
  await run(room, { op: 'create', session: 'a', id: 'one' })
  return { root, value: await run(room, { op: 'locate', session: 'a', watch: [root] }) }
}

test('locate reports the answer, who offers it, and that nothing changed', async (t) => {
  const { root, value } = await located(t, (base, header) => ({ kind: 'jsonl', path: join(base, header.id) }))
  assert.deepEqual(value, { service: true, offered_by: ['Backend'], asynchronous: false, location: { kind: 'jsonl', path: join(root, 'one') }, exists: false, before: [], after: [], unchanged: true })
})

test('a locate that creates something, or answers later, is seen', async (t) => {
  const creating = await located(t, (root) => {
    mkdirSync(join(root, 'made'))
    return { kind: 'jsonl', path: join(root, 'made') }
  })
  assert.equal(creating.value.unchanged, false)
  assert.equal(creating.value.exists, true)
  const late = await located(t, async () => undefined)
  assert.equal(late.value.asynchronous, true)
  assert.equal(late.value.location, null)
})

test('no service and no query are told apart', async () => {
  const without = stubRoom()
  await run(without, { op: 'create', session: 'a' })
  assert.deepEqual(await run(without, { op: 'locate', session: 'a' }), { service: false, offered_by: [] })
  const silent = stubRoom({ sessionPersistence: {} })
  await run(silent, { op: 'create', session: 'a' })
  assert.deepEqual(await run(silent, { op: 'locate', session: 'a' }), { service: true, offered_by: [] })
})

test('open_file reads the located file, a missing one is said to be missing', async (t) => {
  const path = join(folder(t), 'session.jsonl')
  const room = stubRoom({ sessionPersistence: { locate: () => ({ kind: 'jsonl', path }) } })
  await run(room, { op: 'create', session: 'a', id: 'one' })
  assert.deepEqual(await run(room, { op: 'open_file', session: 'a' }), { path, exists: false })
  writeFileSync(path, HEADER + EVENT, { mode: 0o600 })
  const value = await run(room, { op: 'open_file', session: 'a' })
  assert.deepEqual(value, { path, exists: true, mode: '600', header: JSON.parse(HEADER), events: [{ type: 'turn/start', seq: 0 }], lines: 2, torn: false })
})

test('a plain log cut off in a line is torn, and the whole lines are kept', () => {
  const value = readLog('x', Buffer.from(`${HEADER}{"type":"tu`))
  assert.equal(value.torn, true)
  assert.equal(value.lines, 1)
  assert.equal(value.header.id, 'one')
})

test('an empty log has neither header nor events', () => {
  assert.deepEqual(readLog('x', Buffer.alloc(0)), { header: null, events: [], lines: 0, torn: false })
})

test('a zstd log is read frame by frame, or refused by name where Node cannot', () => {
  if (zlib.zstdCompressSync === undefined) {
    assert.throws(() => readLog('the.log', Buffer.from([0x28, 0xb5, 0x2f, 0xfd])), /the\.log is zstd and this Node cannot read it/)
    return
  }
  const frames = Buffer.concat([HEADER, EVENT].map((text) => zlib.zstdCompressSync(Buffer.from(text))))
  assert.deepEqual(readLog('x', frames).events, [{ type: 'turn/start', seq: 0 }])
  assert.equal(readLog('x', frames).torn, false)
  const cut = readLog('x', frames.subarray(0, frames.length - 3))
  assert.deepEqual([cut.lines, cut.torn], [1, true])
})

test('the stub backend answers where a log would be and loads nothing', async () => {
  const Stub = stubBackendClass(class {})
  assert.deepEqual(new Stub({}, { kind: 'sqlite', path: '/p' }).locate(), { kind: 'sqlite', path: '/p' })
  assert.equal(new Stub({}, undefined).locate(), undefined)
  await assert.rejects(new Stub({}).load('one'), /stores nothing/)
})
