//! The rows that do not touch the overlay.

import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'

/** A context with one service whose method is a plain function, and its listeners. */
function world(services) {
  const undo = []
  const listeners = {}
  return { ctx: { ...services, effect: (start) => undo.push(start()), on: (event, listener) => (listeners[event] = listener) }, listeners, dispose: () => undo.forEach((stop) => stop()) }
}

async function mount(row, services, config = {}) {
  const made = world(services)
  const { apply } = await import(`../${row}.mjs`)
  apply(made.ctx, config)
  return made
}

test('every row has a name of its own and an inject list', async () => {
  const rows = readdirSync(new URL('..', import.meta.url)).filter((file) => file.endsWith('.mjs') && file !== 'sabotage.mjs')
  const modules = await Promise.all(rows.map((file) => import(`../${file}`)))
  assert.deepEqual(modules.map((module) => `${module.name.replace('saboteur-', '')}.mjs`), rows)
  assert.equal(modules.every((module) => Array.isArray(module.inject)), true)
})

test('leak-ambient adds inherited names and lets every given value win', async (t) => {
  process.env.DSH_SABOTEUR_TEST = 'stale'
  t.after(() => delete process.env.DSH_SABOTEUR_TEST)
  const { ctx } = await mount('leak-ambient', { subprocess: { spawn: (spec) => spec.env } }, { keys: ['DSH_SABOTEUR_TEST'] })
  assert.deepEqual(ctx.subprocess.spawn({ env: { A: '1' } }), { DSH_SABOTEUR_TEST: 'stale', A: '1' })
  assert.deepEqual(ctx.subprocess.spawn({ env: { DSH_SABOTEUR_TEST: 'managed' } }), { DSH_SABOTEUR_TEST: 'managed' })
})

test('caller-env-wins lets env beat the managed value and leaves a call without env alone', async () => {
  const { ctx } = await mount('caller-env-wins', { shell: { resolve: (request) => request } })
  assert.deepEqual(ctx.shell.resolve({ env: { DSH_A: 'caller' }, dshEnv: { DSH_A: 'managed' } }).dshEnv, { DSH_A: 'caller' })
  assert.deepEqual(ctx.shell.resolve({ dshEnv: { DSH_A: 'managed' } }), { dshEnv: { DSH_A: 'managed' } })
})

test('model-env honours the arguments of the bash call it runs under, and of no other', async () => {
  const { ctx, listeners } = await mount('model-env', { shell: { resolve: (request) => request } })
  const resolve = () => ctx.shell.resolve({ dshEnv: { DSH_A: 'managed' } })
  const bash = { name: 'bash', arguments: { env: { DSH_A: 'model' }, stdin: 'in' } }
  assert.deepEqual(listeners['tools/execute'](bash, resolve), { dshEnv: { DSH_A: 'model' }, stdin: 'in' })
  assert.deepEqual(listeners['tools/execute']({ ...bash, name: 'read' }, resolve), { dshEnv: { DSH_A: 'managed' } })
})

test('lenient-registry at registration swallows a refusal, and a good registration goes through', async () => {
  const register = (contributor) => {
    if (contributor === 'bad') throw new Error('refused')
    return 'disposer'
  }
  const { ctx } = await mount('lenient-registry', { shellEnv: { register } }, { at: 'registration' })
  assert.equal(ctx.shellEnv.register('good'), 'disposer')
  assert.equal(typeof ctx.shellEnv.register('bad'), 'function')
  await assert.rejects(mount('lenient-registry', { shellEnv: { register } }, {}), /at must be/)
})

test('leftover-registration stays loud and leaves one contributor', async () => {
  const taken = []
  const register = (contributor) => {
    if (contributor === 'bad') throw new Error('refused')
    taken.push(contributor.name)
  }
  const { ctx } = await mount('leftover-registration', { shellEnv: { register } }, { key: 'DSH_LEFT' })
  assert.throws(() => ctx.shellEnv.register('bad'), /refused/)
  assert.throws(() => ctx.shellEnv.register('bad'), /refused/)
  assert.deepEqual(taken, ['saboteur-leftover-registration'])
})

test('invent-result never dispatches, double-call dispatches twice, and both leave other tools alone', async () => {
  for (const [row, expected] of [['invent-result', 0], ['double-call', 2]]) {
    const { listeners } = await mount(row, {})
    let calls = 0
    const next = async () => (calls += 1)
    await listeners['tools/execute']({ name: 'mcp__plumb__x' }, next)
    assert.equal(calls, expected, row)
    await listeners['tools/execute']({ name: 'bash' }, next)
    assert.equal(calls, expected + 1, row)
  }
})

test('description changes bash for whom it is told to', async () => {
  const tools = [{ name: 'bash', description: 'd' }, { name: 'read', description: 'r' }]
  const assembled = async () => ({ tools })
  const child = { scope: { session: { header: { parentSession: 'p' } } } }
  const { listeners } = await mount('description', {}, { append: '!', from: 'child' })
  const ask = (context) => listeners['system-prompt/assemble']({}, context, assembled)
  assert.deepEqual((await ask(child)).tools.map((tool) => tool.description), ['d!', 'r'])
  assert.deepEqual((await ask({ scope: { session: { header: {} } } })).tools.map((tool) => tool.description), ['d', 'r'])
})

test('wire-description changes only the bytes of a request that carries bash', async (t) => {
  const original = globalThis.fetch
  const sent = []
  globalThis.fetch = (_resource, options) => sent.push(options.body)
  t.after(() => (globalThis.fetch = original))
  const { dispose } = await mount('wire-description', {}, { append: '!' })
  globalThis.fetch('u', { body: '{"tools":[{"function":{"name":"bash","description":"d"}}]}' })
  globalThis.fetch('u', { body: '{"tools":[]}' })
  assert.deepEqual(sent, ['{"tools":[{"function":{"name":"bash","description":"d!"}}]}', '{"tools":[]}'])
  dispose()
  assert.equal(globalThis.fetch.length, 2)
})

test('bad-ending refuses an ending it does not know', async () => {
  await assert.rejects(mount('bad-ending', {}, { how: 'nicely' }), /how must be one of: exit-code, hang, stall, kill, lie, silence/)
})
