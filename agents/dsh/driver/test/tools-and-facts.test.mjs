//! Tool calls, explicit environment, process facts.

import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { operations } from '../operations.mjs'
import { stubRoom } from '../stub/dsh.mjs'

const run = (room, op) => operations[op.op](op, room)

test('a tool call carries that session agent, or none at all', async () => {
  const calls = []
  const room = stubRoom({ tools: { execute: async (call) => (calls.push(call), { isError: true, content: [], error: { message: 'm' } }) } })
  await run(room, { op: 'create', session: 'a', id: 'one' })
  await run(room, { op: 'tool', session: 'a', name: 'bash', arguments: { command: 'x' } })
  const value = await run(room, { op: 'tool', name: 'bash' })
  assert.equal(calls[0].agent.id, 'one')
  assert.equal('agent' in calls[1], false)
  assert.deepEqual(calls.map((call) => call.callId), ['driver-1', 'driver-2'])
  assert.deepEqual(value, { isError: true, text: '', value: undefined, error: { message: 'm' } })
})

test('the calls of one operation are all dispatched before the first is answered', async () => {
  const calls = []
  let answer
  const gate = new Promise((resolve) => (answer = resolve))
  const room = stubRoom({ tools: { execute: async (call) => (calls.push(call.name), await gate, { isError: false, content: [] }) } })
  await run(room, { op: 'create', session: 'a', id: 'one' })
  const outcome = run(room, { op: 'tools', session: 'a', calls: [{ name: 'x' }, { name: 'y', arguments: { n: 1 } }] })
  assert.deepEqual(calls, ['x', 'y'])
  answer()
  assert.equal((await outcome).length, 2)
})

test('job_output asks for the job that the named call started, with the same agent', async () => {
  const calls = []
  const room = stubRoom({ tools: { execute: async (call) => (calls.push(call), { isError: false, content: [], value: { jobId: 'job-7' } }) } })
  await run(room, { op: 'tool', as: 'bg', name: 'bash', arguments: { run_in_background: true } })
  await run(room, { op: 'job_output', job: 'bg' })
  assert.deepEqual(calls[1].arguments, { job_id: 'job-7', wait: true })
  assert.equal('agent' in calls[1], false)
})

test('env_entry hands env and dsh_env to the executor separately, on both kinds of executor', async () => {
  let request
  const room = stubRoom({ shell: { resolve: (given) => (request = given), run: async () => ({ exitCode: 3, stdout: { text: 'o' }, stderr: { text: 'e' } }) } })
  const value = await run(room, { op: 'env_entry', command: 'c', env: { A: '1' }, dsh_env: { DSH_B: '2' } })
  assert.deepEqual(value, { exitCode: 3, stdout: 'o', stderr: 'e' })
  assert.deepEqual(request, { command: 'c', env: { A: '1' }, dshEnv: { DSH_B: '2' }, workdir: undefined })
})

test('process_env shows DSH_* in any case with values, and of everything else only whether it changed', async (t) => {
  const room = stubRoom()
  t.after(() => {
    delete process.env.Dsh_driver_test
    delete process.env.DRIVER_TEST_SECRET
  })
  process.env.Dsh_driver_test = 'shown'
  const first = await run(room, { op: 'process_env' })
  assert.equal(first.dsh.Dsh_driver_test, 'shown')
  assert.deepEqual(first.changed, [])
  process.env.DRIVER_TEST_SECRET = 'hidden'
  const second = await run(room, { op: 'process_env' })
  assert.deepEqual(second.changed, ['DRIVER_TEST_SECRET'])
  assert.notEqual(second.digest, first.digest)
  assert.equal(JSON.stringify(second).includes('hidden'), false)
})

test('touch creates a file once', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'driver-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const path = join(folder, 'go')
  await run(stubRoom(), { op: 'touch', path, text: 'x' })
  assert.equal(readFileSync(path, 'utf8'), 'x')
  await assert.rejects(run(stubRoom(), { op: 'touch', path }), { code: 'EEXIST' })
})
