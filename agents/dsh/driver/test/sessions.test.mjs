//! Session operations over the stub: names, lineage, overlap, deadlines.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { operations } from '../operations.mjs'
import { stubRoom } from '../stub/dsh.mjs'

const run = (room, op) => operations[op.op](op, room)

test('create reports the header, with the cwd asked for, the process own, or none', async () => {
  const room = stubRoom()
  assert.equal((await run(room, { op: 'create', session: 'a', cwd: '/w' })).header.cwd, '/w')
  assert.equal((await run(room, { op: 'create', session: 'b' })).header.cwd, process.cwd())
  assert.equal('cwd' in (await run(room, { op: 'create', session: 'c', no_cwd: true })).header, false)
})

test('create keeps a chosen id as it is, and mints distinct ones otherwise', async () => {
  const room = stubRoom()
  assert.equal((await run(room, { op: 'create', session: 'a', id: 'odd/id é' })).id, 'odd/id é')
  const first = await run(room, { op: 'create', session: 'b' })
  const second = await run(room, { op: 'create', session: 'c' })
  assert.match(first.id, /^session-[0-9a-f-]{36}$/)
  assert.notEqual(first.id, second.id)
})

test('a name is used once and an unknown name lists the known ones', async () => {
  const room = stubRoom()
  await run(room, { op: 'create', session: 'a' })
  await assert.rejects(run(room, { op: 'create', session: 'a' }), /the session name "a" is taken/)
  await assert.rejects(run(room, { op: 'prompt', session: 'b', text: 'x' }), /no session named "b"; there is: a/)
})

test('prompt reports how the turn ended, the last text and the tool results', async () => {
  const room = stubRoom()
  await run(room, { op: 'create', session: 'a', id: 'one' })
  const value = await run(room, { op: 'prompt', session: 'a', text: 'hello' })
  assert.deepEqual(value.end, { kind: 'completed' })
  assert.equal(value.text, 'heard hello')
  assert.deepEqual(value.results, [{ callId: 'call-1', text: 'ran for one', isError: false }])
})

test('prompt reports only its own turn', async () => {
  const room = stubRoom()
  await run(room, { op: 'create', session: 'a' })
  await run(room, { op: 'prompt', session: 'a', text: 'first' })
  assert.equal((await run(room, { op: 'prompt', session: 'a', text: 'second' })).results.length, 1)
})

test('a tool result that is a message of its own is read the same way', async () => {
  const room = stubRoom()
  await run(room, { op: 'create', session: 'a' })
  const { agent } = room.sessions.get('a')
  agent.followup = () => agent.session.events.push({ type: 'tool/result', data: { message: { toolCallId: 'c', content: [{ type: 'text', text: 'flat' }], isError: true } } })
  assert.deepEqual((await run(room, { op: 'prompt', session: 'a', text: 'x' })).results, [{ callId: 'c', text: 'flat', isError: true }])
})

test('spawn names its parent, its origin and one level more of depth', async () => {
  const room = stubRoom()
  await run(room, { op: 'create', session: 'a', id: 'parent', cwd: '/w' })
  const { header } = await run(room, { op: 'spawn', session: 'b', from: 'a' })
  assert.deepEqual({ ...header, id: 'x' }, { id: 'x', cwd: '/w', parentSession: 'parent', origin: 'subagent', delegationDepth: 1 })
  assert.equal((await run(room, { op: 'spawn', session: 'c', from: 'b' })).header.delegationDepth, 2)
})

test('fork inherits the turns and names its parent', async () => {
  const room = stubRoom()
  await run(room, { op: 'create', session: 'a', id: 'parent', cwd: '/w' })
  await run(room, { op: 'prompt', session: 'a', text: 'x' })
  const value = await run(room, { op: 'fork', session: 'f', from: 'a' })
  assert.equal(value.events, 4)
  assert.deepEqual({ ...value.header, id: 'x' }, { id: 'x', cwd: '/w', parentSession: 'parent', seedLength: 4 })
})

test('a live session cannot be resumed, a disposed one can, under its old name', async () => {
  const room = stubRoom()
  await run(room, { op: 'create', session: 'a', id: 'one' })
  await assert.rejects(run(room, { op: 'resume', session: 'again', from: 'a' }), /is live/)
  await run(room, { op: 'dispose', session: 'a' })
  assert.equal((await run(room, { op: 'resume', session: 'a', from: 'a' })).id, 'one')
  await assert.rejects(run(room, { op: 'resume', session: 'z', id: 'nope' }), /"nope" not found/)
})

test('started prompts overlap, are collected once, and only one per session is under way', async () => {
  const room = stubRoom()
  await run(room, { op: 'create', session: 'a', id: 'one' })
  await run(room, { op: 'create', session: 'b', id: 'two' })
  await run(room, { op: 'prompt_start', session: 'a', text: 'x' })
  await run(room, { op: 'prompt_start', session: 'b', text: 'y' })
  await assert.rejects(run(room, { op: 'prompt_start', session: 'a', text: 'z' }), /already has a prompt under way/)
  assert.equal((await run(room, { op: 'wait', session: 'b' })).results[0].text, 'ran for two')
  assert.equal((await run(room, { op: 'wait', session: 'a' })).results[0].text, 'ran for one')
  await assert.rejects(run(room, { op: 'wait', session: 'a' }), /no started prompt named "a"/)
})

test('a prompt that never ends fails at its deadline and says what was last seen', async () => {
  const room = stubRoom()
  await run(room, { op: 'create', session: 'a' })
  const { agent } = room.sessions.get('a')
  agent.whenIdle = () => new Promise(() => {})
  await assert.rejects(run(room, { op: 'prompt', session: 'a', text: 'x', within_ms: 5 }), /prompt: not within 5 ms; last seen: turn\/end/)
})

test('until ends at the event that is already there, at one that comes, and at its deadline', async () => {
  const room = stubRoom()
  await run(room, { op: 'create', session: 'a' })
  await run(room, { op: 'prompt', session: 'a', text: 'x' })
  assert.deepEqual(await run(room, { op: 'until', session: 'a', event: 'turn/end' }), { seen: 1 })
  const second = run(room, { op: 'until', session: 'a', event: 'turn/end', count: 2 })
  await run(room, { op: 'prompt', session: 'a', text: 'y' })
  assert.deepEqual(await second, { seen: 2 })
  await assert.rejects(run(room, { op: 'until', session: 'a', event: 'turn/end', count: 3, within_ms: 5 }), /last seen: 2 of 3 "turn\/end" events/)
})

test('idle waits for the agent, flushes, and prompts nothing', async () => {
  const flushed = []
  const room = stubRoom({ sessions: { flush: async (session) => flushed.push(session.header.id) } })
  await run(room, { op: 'create', session: 'a', id: 'one' })
  assert.deepEqual(await run(room, { op: 'idle', session: 'a' }), { events: 0 })
  assert.deepEqual(flushed, ['one'])
  room.sessions.get('a').agent.whenIdle = () => new Promise(() => {})
  await assert.rejects(run(room, { op: 'idle', session: 'a', within_ms: 5 }), /idle: not within 5 ms; last seen: no event/)
})

test('the notes list every operation', async () => {
  const notes = readFileSync(new URL('../NOTES.md', import.meta.url), 'utf8')
  const rows = notes.slice(notes.indexOf('| operation |'), notes.indexOf('Behaviours:')).split('\n').map((line) => line.split('|')[1] ?? '')
  const listed = rows.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map((match) => match[1]))
  assert.deepEqual(listed.sort(), Object.keys(operations).sort())
})
