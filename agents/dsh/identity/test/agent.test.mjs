// What is read of dsh (`agent.mjs`): ids, folders, lineage, and that a moved field is reported.
import assert from 'node:assert/strict'
import test from 'node:test'
import { readCaller } from '../agent.mjs'

const read = (agent) => {
  const { caller, moved } = readCaller({ name: 'mcp__plumb__x', arguments: {}, agent })
  return { caller, moved: moved.map((field) => field.path) }
}
const header = (more) => ({ id: 's', session: { header: { id: 's', cwd: '/w', ...more } } })

test('a root session is a conversation', () => {
  assert.deepEqual(read(header()), { caller: { sessionId: 's', workspace: '/w', role: 'conversation' }, moved: [] })
  assert.equal(read(header({ delegationDepth: 0 })).caller.role, 'conversation')
})

test('a parent session or a delegation depth makes a subagent', () => {
  assert.equal(read(header({ parentSession: 'p' })).caller.role, 'subagent')
  assert.equal(read(header({ delegationDepth: 1 })).caller.role, 'subagent')
})

test('a call that no agent makes has no caller', () => {
  assert.deepEqual(read(undefined), { caller: undefined, moved: ['agent'] })
})

test('a name or arguments that are gone are named', () => {
  assert.deepEqual(readCaller({}).moved.map((field) => field.path), ['name', 'arguments', 'agent'])
})

test('each field that moved is named', () => {
  assert.deepEqual(read({ session: { header: { id: 's', cwd: '/w' } } }), { caller: { sessionId: 's', workspace: '/w', role: 'conversation' }, moved: ['agent.id'] })
  assert.deepEqual(read({ id: 's' }), { caller: { sessionId: 's', workspace: undefined, role: 'conversation' }, moved: ['agent.session.header'] })
  assert.deepEqual(read(header({ cwd: undefined })).moved, ['agent.session.header.cwd'])
  assert.deepEqual(read(header({ parentSession: {} })).moved, ['agent.session.header.parentSession'])
  assert.deepEqual(read(header({ delegationDepth: '1' })).moved, ['agent.session.header.delegationDepth'])
  assert.deepEqual(read({}), { caller: undefined, moved: ['agent.id', 'agent.session.header'] })
})
