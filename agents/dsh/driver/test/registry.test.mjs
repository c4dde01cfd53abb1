//! Registry operations over the stub: each behaviour, each malformed form, disposal and reload.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operations } from '../operations.mjs'
import { stubRoom } from '../stub/dsh.mjs'

const run = (room, op) => operations[op.op](op, room)
const collected = async (room, session) => (await run(room, { op: 'collect', ...(session === undefined ? {} : { session }) })).env

test('a registered value reaches the overlay, and leaves it with its contributor', async () => {
  const room = stubRoom()
  await run(room, { op: 'register', contributor: 'c', variables: { DSH_A: 'a fact' }, values: { DSH_A: 'x' } })
  assert.equal((await collected(room)).DSH_A, 'x')
  assert.deepEqual(await run(room, { op: 'dispose_contributor', contributor: 'c' }), { runs: 1, declared: [] })
  assert.equal('DSH_A' in (await collected(room)), false)
  await run(room, { op: 'register', contributor: 'c', variables: ['DSH_A'] })
})

test('counting counts resolver runs, and list runs none', async () => {
  const room = stubRoom()
  await run(room, { op: 'register', contributor: 'c', variables: ['DSH_N'], behaviour: 'counting' })
  assert.equal((await collected(room)).DSH_N, '1')
  assert.equal((await collected(room)).DSH_N, '2')
  const value = await run(room, { op: 'list' })
  assert.deepEqual([value.before, value.after], [{ c: 2 }, { c: 2 }])
  assert.deepEqual(value.declared.map((entry) => entry.key), ['DSH_N'])
})

test('the session behaviour sees the execution it was asked for', async () => {
  const room = stubRoom()
  await run(room, { op: 'create', session: 'a', id: 'one' })
  await run(room, { op: 'register', contributor: 'c', variables: ['DSH_S'], behaviour: 'session' })
  assert.equal((await collected(room, 'a')).DSH_S, 'one')
  assert.equal((await collected(room)).DSH_S, 'no agent')
})

for (const [behaviour, message] of [
  ['throws', /the resolver of the conformance driver throws/],
  ['undeclared', /undeclared key "DSH_E2E_UNDECLARED"/],
  ['reserved', /undeclared key "DSH_SESSION_ID"/],
  ['nonstring', /non-string value for "DSH_B"/],
  ['undefined', /non-string value for "DSH_B"/],
]) {
  test(`the ${behaviour} behaviour is accepted at registration and breaks the call`, async () => {
    const room = stubRoom()
    await run(room, { op: 'register', contributor: 'c', variables: ['DSH_B'], behaviour })
    await assert.rejects(collected(room), message)
  })
}

test('the none behaviour contributes nothing', async () => {
  const room = stubRoom()
  await run(room, { op: 'register', contributor: 'c', variables: ['DSH_B'], behaviour: 'none' })
  assert.deepEqual(await collected(room), { DSH_HOME: '/stub-home', DSH_SHELL: '1' })
})

for (const [form, op, message] of [
  ['a missing name', { missing: ['name'], variables: ['DSH_A'] }, TypeError],
  ['a blank name', { name: ' ', variables: ['DSH_A'] }, /non-empty/],
  ['missing variables', { missing: ['variables'] }, TypeError],
  ['a missing description', { variables: { DSH_A: null } }, TypeError],
  ['a blank description', { variables: { DSH_A: ' ' } }, /must describe/],
  ['a reserved key', { variables: ['DSH_HOME'] }, /reserved/],
]) {
  test(`${form} reaches the registry as such, and the refusal is the operation's error`, async () => {
    const room = stubRoom()
    await assert.rejects(run(room, { op: 'register', contributor: 'c', ...op }), message)
    assert.deepEqual((await run(room, { op: 'list' })).declared, [])
  })
}

test('a missing resolver is left out of the declaration', async () => {
  const room = stubRoom()
  await run(room, { op: 'register', contributor: 'c', variables: ['DSH_A'], missing: ['resolve'] })
  await assert.rejects(collected(room), /resolve is not a function/)
})

test('a second contributor of the same name needs a name of its own here, and dsh refuses it', async () => {
  const room = stubRoom()
  await run(room, { op: 'register', contributor: 'c', variables: ['DSH_A'] })
  await assert.rejects(run(room, { op: 'register', as: 'second', contributor: 'c', variables: ['DSH_B'] }), /already registered/)
})

test('reload shows the key gone in between and the new value after', async () => {
  const room = stubRoom()
  await run(room, { op: 'register', contributor: 'c', variables: ['DSH_A'], values: { DSH_A: 'old' } })
  const value = await run(room, { op: 'reload_contributor', contributor: 'c', values: { DSH_A: 'new' } })
  assert.deepEqual([value.between, value.declared], [[], ['c:DSH_A']])
  assert.equal((await collected(room)).DSH_A, 'new')
})

test('a contributor on the driver own fiber can be disposed too', async () => {
  const room = stubRoom()
  await run(room, { op: 'register', contributor: 'c', owner: 'driver', variables: ['DSH_A'] })
  assert.deepEqual((await run(room, { op: 'dispose_contributor', contributor: 'c' })).declared, [])
})

test('an unknown behaviour is refused before anything is registered', async () => {
  const room = stubRoom()
  await assert.rejects(run(room, { op: 'register', contributor: 'c', variables: ['DSH_A'], behaviour: 'odd' }), /known: values, counting/)
})

test('collect says whether the overlay is frozen', async () => {
  assert.equal((await run(stubRoom(), { op: 'collect' })).frozen, true)
})
