// A declaration of the model (`takeover.mjs`): which fields are replaced, dropped and left.
import assert from 'node:assert/strict'
import test from 'node:test'
import { takeOver } from '../takeover.mjs'

const own = 'dsh-ws-1'

test('a typed id is replaced and everything else kept', () => {
  const args = Object.freeze({ session_id: 'mine', workspace: '/other', purpose: 'p', detail: 'full', mail: 'claim', force: true })
  assert.deepEqual(takeOver('session_start', args, own), { args: { session_id: own, workspace: '/other', purpose: 'p', detail: 'full', mail: 'claim', force: true }, typedId: 'mine' })
})

test('every spelling of the id that plumb accepts is replaced', () => {
  for (const key of ['sessionId', 'session-id', 'SessionID']) {
    assert.deepEqual(takeOver('session_start', { [key]: 'mine' }, own), { args: { session_id: own }, typedId: 'mine' })
  }
  assert.deepEqual(takeOver('session_start', { session_id: own, sessionId: 'mine' }, own), { args: { session_id: own }, typedId: 'mine' })
})

test('a declaration without an id, or with the own one, is no takeover', () => {
  assert.deepEqual(takeOver('session_start', { workspace: '/w' }, own), { args: { workspace: '/w', session_id: own }, typedId: undefined })
  assert.deepEqual(takeOver('session_start', { session_id: own }, own), { args: { session_id: own }, typedId: undefined })
})

test('a typed stamp or proof is dropped, from any call', () => {
  const typed = { plumb_agent: 'x', 'dev.plumbkit/logical-agent': 'y', plumb_hook_proof: 'z' }
  assert.deepEqual(takeOver('session_start', { ...typed, workspace: '/w' }, own).args, { workspace: '/w', session_id: own })
  assert.deepEqual(takeOver('git', { ...typed, subcommand: 'status' }, own).args, { subcommand: 'status' })
})

test('another tool keeps its arguments as they are', () => {
  const args = Object.freeze({ session_id: 'a file about it' })
  assert.equal(takeOver('read_file', args, own).args, args)
})
