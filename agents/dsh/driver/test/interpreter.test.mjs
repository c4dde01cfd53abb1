//! The interpreter: what it writes, what it never lets stop the list.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ExitRequested, execute } from '../interpreter.mjs'
import { openRoom } from '../room.mjs'

const table = {
  good: async (op) => ({ echoed: op.text }),
  silent: async () => undefined,
  bad: async () => {
    throw Object.assign(new TypeError('it broke', { cause: new Error('the reason') }), { code: 'E_BROKE' })
  },
  throws_a_string: async () => {
    throw 'only text'
  },
  exit: async () => {
    throw new ExitRequested(7)
  },
}

async function outcomes(ops) {
  let tick = 0
  const lines = []
  const code = await execute(ops, table, openRoom({}, {}, () => (tick += 5)), (line) => lines.push(line))
  return { lines, code }
}

test('every operation leaves one line and the list ends with done', async () => {
  const { lines, code } = await outcomes([{ op: 'good', as: 'g', text: 'hi' }, { op: 'silent', session: 's' }])
  assert.deepEqual(lines, [
    { op: 'good', as: 'g', ok: true, value: { echoed: 'hi' }, t: 5 },
    { op: 'silent', session: 's', ok: true, value: null, t: 5 },
    { done: true, exit: 0 },
  ])
  assert.equal(code, 0)
})

test('a failing operation is reported with name, message, code and cause, and the list goes on', async () => {
  const { lines } = await outcomes([{ op: 'bad' }, { op: 'throws_a_string' }, { op: 'good' }])
  assert.deepEqual(lines[0].error, { name: 'TypeError', message: 'it broke', code: 'E_BROKE', cause: 'the reason' })
  assert.deepEqual(lines[1].error, { name: 'Error', message: 'only text' })
  assert.equal(lines[2].ok, true)
  assert.equal(lines[3].done, true)
})

test('a fatal operation that fails ends the list with exit 1 and without done', async () => {
  const { lines, code } = await outcomes([{ op: 'bad', fatal: true }, { op: 'good' }])
  assert.deepEqual(lines.map((line) => line.op ?? line.done), ['bad', false])
  assert.equal(code, 1)
})

test('a fatal operation that succeeds changes nothing', async () => {
  const { lines } = await outcomes([{ op: 'good', fatal: true }, { op: 'good' }])
  assert.equal(lines.length, 3)
})

test('exit ends the list early with its code and with done', async () => {
  const { lines, code } = await outcomes([{ op: 'exit' }, { op: 'good' }])
  assert.deepEqual(lines.at(-1), { done: true, exit: 7 })
  assert.equal(lines.length, 2)
  assert.equal(code, 7)
})

test('an unknown operation names the known ones; an inherited name is unknown', async () => {
  const { lines } = await outcomes([{ op: 'gud' }, { op: 'toString' }, null, 'text'])
  assert.match(lines[0].error.message, /unknown operation "gud"; known: good, silent/)
  assert.match(lines[1].error.message, /unknown operation "toString"/)
  assert.equal(lines[2].ok, false)
  assert.equal(lines[3].ok, false)
})

test('a file that is not a list is refused before anything runs', async () => {
  await assert.rejects(outcomes({ op: 'good' }), /must hold a JSON array/)
})
