//! The rows that act in one situation alone: each is silent beside it, and says so when it acts.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AGENTLESS, BACKGROUND, CHILD, ROOT, execution, mounted } from './world.mjs'

/** Sets a variable of this process for one test. */
function ambient(t, key, value) {
  const before = process.env[key]
  process.env[key] = value
  t.after(() => (before === undefined ? delete process.env[key] : (process.env[key] = before)))
}

const id = (overlay) => overlay.DSH_SESSION_ID

test('agentless-ambient-id gives the ambient id to a call without an agent, and to no other', async (t) => {
  ambient(t, 'DSH_SESSION_ID', 'outer')
  const world = await mounted(t, 'agentless-ambient-id')
  assert.equal(id(world.collect(ROOT)), 'root')
  assert.deepEqual(world.acts(), [])
  assert.equal(id(world.collect(AGENTLESS)), 'outer')
  assert.equal(world.acts().length, 1)
})

test('background-home gives a background call the ambient home', async (t) => {
  ambient(t, 'DSH_HOME', '/ambient')
  const world = await mounted(t, 'background-home')
  assert.equal(world.collect(ROOT).DSH_HOME, '/w/home')
  assert.deepEqual(world.acts(), [])
  assert.equal(world.collect(BACKGROUND).DSH_HOME, '/ambient')
  assert.equal(world.acts().length, 1)
})

test('encoded-id changes ids that need escaping', async (t) => {
  const world = await mounted(t, 'encoded-id')
  assert.equal(id(world.collect(ROOT)), 'root')
  assert.deepEqual(world.acts(), [])
  assert.equal(id(world.collect(execution({ id: 'a/b c' }))), 'a~002Fb~0020c')
  assert.equal(world.acts().length, 1)
})

test('messaged-child-id acts in the second turn of a child', async (t) => {
  const world = await mounted(t, 'messaged-child-id')
  const turn = (call) => world.listeners['session/event'](call.agent.session, { type: 'turn/start' })
  for (const call of [ROOT, ROOT, CHILD]) turn(call)
  assert.deepEqual([ROOT, CHILD].map((call) => id(world.collect(call))), ['root', 'child'])
  assert.deepEqual(world.acts(), [])
  turn(CHILD)
  assert.equal(id(world.collect(CHILD)), 'root')
  assert.equal(world.acts().length, 1)
})

test('seeded-fork-id acts on a fork that inherited turns', async (t) => {
  const world = await mounted(t, 'seeded-fork-id')
  assert.equal(id(world.collect(CHILD)), 'child')
  assert.deepEqual(world.acts(), [])
  for (const seed of [{ isSeeded: true }, { seedLength: 3 }]) {
    assert.equal(id(world.collect(execution({ id: 'fork', parentSession: 'root', ...seed }))), 'root')
  }
  assert.equal(world.acts().length, 2)
})

test('job-overlay gives the overlay of a running background command to the calls beside it', async (t) => {
  let count = 0
  let end
  const spawn = () => ({ done: new Promise((resolve) => (end = resolve)) })
  const services = { subprocess: { spawn } }
  const world = await mounted(t, 'job-overlay', {}, { services, values: () => ({ COUNT: String((count += 1)) }) })
  assert.equal(world.collect(ROOT).COUNT, '1')
  const job = world.collect(BACKGROUND)
  world.ctx.subprocess.spawn({ env: job })
  assert.equal(world.collect(ROOT).COUNT, '2')
  assert.equal(world.collect(CHILD).COUNT, '4')
  assert.equal(world.acts().length, 1)
  end()
  await new Promise(setImmediate)
  assert.equal(world.collect(ROOT).COUNT, '5')
})

test('contributed-key-yields lets an explicit entry win over a key that a contributor owns', async (t) => {
  const services = { shell: { resolve: (request) => request.dshEnv } }
  const world = await mounted(t, 'contributed-key-yields', {}, { services, declared: () => [{ key: 'DSH_OWN' }] })
  const managed = { DSH_SHELL: '1', DSH_OWN: 'managed' }
  const resolved = (env) => world.ctx.shell.resolve({ env, dshEnv: managed })
  assert.deepEqual(resolved({ DSH_SHELL: 'x' }), managed)
  assert.deepEqual(world.acts(), [])
  assert.deepEqual(resolved({ DSH_OWN: 'x' }), { DSH_SHELL: '1' })
  assert.equal(world.acts().length, 1)
})

test('disposal-takes-next hides the contributor after the one that went', async (t) => {
  const world = await mounted(t, 'disposal-takes-next', {}, { services: { shellEnv: registry() } })
  const goes = ['A', 'B', 'C'].map((name) => world.ctx.shellEnv.register({ name, variables: { [`DSH_${name}`]: '' } }))
  goes[2]()
  assert.deepEqual(Object.keys(world.collect(ROOT)), ['DSH_A', 'DSH_B'])
  assert.deepEqual(world.acts(), [])
  goes[0]()
  assert.deepEqual(world.collect(ROOT), {})
  assert.deepEqual(world.ctx.shellEnv.list(), [])
  assert.equal(world.acts().length, 1)
})

/** An honest registry, whose overlay is what is registered. */
function registry() {
  const contributors = new Map()
  const all = () => [...contributors.values()]
  return {
    contributors,
    register: (one) => (contributors.set(one.name, one), () => contributors.delete(one.name)),
    collect: () => Object.assign({}, ...all().map((one) => one.variables)),
    list: () => all().map((one) => ({ contributor: one.name })),
  }
}

test('resumed-parameter names the keys in a parameter once a session was resumed', async (t) => {
  const schema = { name: 'bash', description: 'runs', parameters: { properties: { command: { description: 'what' } } } }
  const services = { tools: { wireSchemas: () => ({ schemas: [schema] }) } }
  const world = await mounted(t, 'resumed-parameter', {}, { services })
  world.listeners['agent/created']({ source: 'new' })
  assert.deepEqual(world.ctx.tools.wireSchemas().schemas, [schema])
  assert.deepEqual(world.acts(), [])
  world.listeners['agent/created']({ source: 'resume' })
  const [told] = world.ctx.tools.wireSchemas().schemas
  assert.match(told.parameters.properties.command.description, /^what .*DSH_SESSION_ID/)
  assert.equal(told.description, 'runs')
  assert.equal(world.acts().length, 1)
})

test('error-result-log keeps the text of good results and takes that of failed ones', async (t) => {
  class Jsonl {
    encodeEventBatch(events) {
      return events
    }

    encodeMaterialization(_header, events) {
      return events
    }
  }
  const world = await mounted(t, 'error-result-log', {}, { services: { sessionPersistence: new Jsonl() } })
  const result = (isError) => ({ type: 'tool/result', data: { message: { isError, content: [{ type: 'text', text: 'whole' }] } } })
  const words = (events) => events.map((event) => event.data.message.content[0].text)
  const { sessionPersistence: log } = world.ctx
  assert.deepEqual(words(log.encodeEventBatch([result(false)])), ['whole'])
  assert.deepEqual(world.acts(), [])
  assert.deepEqual(words(log.encodeEventBatch([result(true)])), ['Error'])
  assert.deepEqual(words(log.encodeMaterialization({}, [result(true)])), ['Error'])
  world.dispose()
  assert.deepEqual(words(log.encodeEventBatch([result(true)])), ['whole'])
})
