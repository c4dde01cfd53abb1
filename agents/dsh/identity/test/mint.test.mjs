// The minted id (`mint.mjs`): stable, distinct, made of prefix, folder and session.
import assert from 'node:assert/strict'
import test from 'node:test'
import { mintId, sessionShort, workspaceSlug } from '../mint.mjs'

const mint = (sessionId, workspace = '/home/me/My Project') => mintId('dsh', { sessionId, workspace })

test('an id names the prefix, the folder and twelve digits of the session', () => {
  assert.equal(mint('session-d5df8f27-dcc6-4c13-831f-04a5ebe52be5'), 'dsh-my-project-d5df8f27dcc6')
  assert.equal(mint('D5DF8F27-DCC6-4C13-831F-04A5EBE52BE5'), 'dsh-my-project-d5df8f27dcc6')
})

test('the same session in the same folder has the same id', () => {
  assert.equal(mint('s1'), mint('s1'))
})

test('sessions that share a beginning are told apart', () => {
  const ids = ['s1', 's2', 's10', 'fixed/id with space:é', '019aa111-2222-7333-8444-555555555555', '019aa111-2222-7333-8444-666666666666'].map(sessionShort)
  assert.equal(new Set(ids).size, ids.length)
  for (const id of ids) assert.match(id, /^[0-9a-f]{12}$/)
})

test('three hundred thousand random sessions have as many ids', () => {
  const ids = new Set()
  for (let n = 0; n < 300_000; n += 1) ids.add(sessionShort(crypto.randomUUID()))
  assert.equal(ids.size, 300_000)
})

test('a slug is short, lower case and never empty', () => {
  const cases = { '/a/Été 2026!': 't-2026', '/': 'workspace', '/x/..': 'workspace', [`/${'long-name-'.repeat(9)}`]: 'long-name-long-name-long' }
  for (const [workspace, slug] of Object.entries(cases)) assert.equal(workspaceSlug(workspace), slug)
  assert.equal(workspaceSlug(undefined), 'workspace')
})
