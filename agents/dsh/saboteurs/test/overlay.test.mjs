//! The rows that change the overlay: each changes what it says and nothing else, says so, and is undone by disposal.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AGENTLESS, BACKGROUND, CHILD, ROOT, mounted } from './world.mjs'

const honestRoot = { DSH_HOME: '/w/home', DSH_SHELL: '1', DSH_SESSION_ID: 'root' }

test('drop-key drops its key where it is told to, and only there', async (t) => {
  const world = await mounted(t, 'drop-key', { key: 'DSH_SHELL', from: 'background' })
  assert.deepEqual(world.collect(ROOT), honestRoot)
  assert.deepEqual(world.acts(), [])
  assert.deepEqual(world.collect(BACKGROUND), { DSH_HOME: '/w/home', DSH_SESSION_ID: 'root' })
  assert.deepEqual(world.acts(), ['dropped DSH_SHELL'])
})

test('force-key sets its key for the calls it is for', async (t) => {
  const world = await mounted(t, 'force-key', { key: 'DSH_SESSION_ID', value: 'forged', from: 'agentless' })
  assert.equal(world.collect(AGENTLESS).DSH_SESSION_ID, 'forged')
  assert.deepEqual(world.collect(ROOT), honestRoot)
})

test('an unknown from is refused by name', async (t) => {
  const world = await mounted(t, 'drop-key', { key: 'DSH_SHELL', from: 'sometimes' })
  assert.throws(() => world.collect(ROOT), /unknown "from: sometimes"; known: all, foreground/)
})

test('relative-home names the same folder, relatively', async (t) => {
  const world = await mounted(t, 'relative-home')
  assert.deepEqual(world.collect(ROOT), { ...honestRoot, DSH_HOME: 'home' })
})

test('bare-background empties background calls only', async (t) => {
  const world = await mounted(t, 'bare-background')
  assert.deepEqual(world.collect(BACKGROUND), {})
  assert.deepEqual(world.collect(ROOT), honestRoot)
})

test('parent-id confuses a child and leaves a root alone', async (t) => {
  const world = await mounted(t, 'parent-id')
  assert.equal(world.collect(CHILD).DSH_SESSION_ID, 'root')
  assert.deepEqual(world.collect(ROOT), honestRoot)
  assert.equal(world.acts().length, 1)
})

test('global-id is invisible with one session and wrong with two', async (t) => {
  const world = await mounted(t, 'global-id')
  assert.deepEqual(world.collect(ROOT), honestRoot)
  assert.deepEqual(world.acts(), [])
  assert.equal(world.collect(CHILD).DSH_SESSION_ID, 'root')
  assert.equal('DSH_SESSION_ID' in world.collect(AGENTLESS), false)
})

test('agentless-id hands out the last id, once there is one', async (t) => {
  const world = await mounted(t, 'agentless-id')
  assert.equal('DSH_SESSION_ID' in world.collect(AGENTLESS), false)
  world.collect(ROOT)
  assert.equal(world.collect(AGENTLESS).DSH_SESSION_ID, 'root')
})

for (const event of ['agent/session-start', 'agent/created']) {
  test(`resume-id changes a session that ${event} says was resumed`, async (t) => {
    const world = await mounted(t, 'resume-id')
    world.listeners[event]({ source: 'startup', agent: CHILD.agent })
    world.listeners[event]({ source: 'resume', agent: ROOT.agent })
    assert.equal(world.collect(ROOT).DSH_SESSION_ID, 'root-resumed')
    assert.equal(world.collect(CHILD).DSH_SESSION_ID, 'child')
  })
}

test('cached-overlay serves the first overlay of each session again', async (t) => {
  let run = 0
  const world = await mounted(t, 'cached-overlay', {}, { values: () => ({ DSH_N: String((run += 1)) }) })
  assert.deepEqual([world.collect(ROOT).DSH_N, world.collect(ROOT).DSH_N, world.collect(CHILD).DSH_N], ['1', '1', '3'])
})

test('sticky-contributor keeps a value whose declaration is gone', async (t) => {
  let there = true
  const world = await mounted(t, 'sticky-contributor', {}, {
    values: () => (there ? { DSH_N: '1' } : {}),
    declared: () => (there ? [{ key: 'DSH_N' }] : []),
  })
  world.collect(ROOT)
  assert.deepEqual(world.acts(), [])
  there = false
  assert.equal(world.collect(ROOT).DSH_N, '1')
  assert.deepEqual(world.acts(), ['kept DSH_N'])
})

test('lenient-registry at call serves the last good overlay for a broken one', async (t) => {
  let broken = false
  const world = await mounted(t, 'lenient-registry', { at: 'call' }, {
    values: () => {
      if (broken) throw new Error('undeclared')
      return {}
    },
  })
  world.collect(ROOT)
  broken = true
  assert.deepEqual(world.collect(ROOT), honestRoot)
  assert.deepEqual(world.acts(), ['swallowed: undeclared'])
})

test('eager-list runs the resolvers and lists the same', async (t) => {
  let run = 0
  const world = await mounted(t, 'eager-list', {}, { values: () => ({ DSH_N: String((run += 1)) }), declared: () => [{ key: 'DSH_N' }] })
  assert.deepEqual(world.ctx.shellEnv.list(), [{ key: 'DSH_N' }])
  assert.equal(run, 1)
})

test('process-env writes to the process and leaves the overlay right', async (t) => {
  const kept = { ...process.env }
  t.after(() => {
    for (const key of Object.keys(honestRoot)) {
      if (key in kept) process.env[key] = kept[key]
      else delete process.env[key]
    }
  })
  const world = await mounted(t, 'process-env')
  assert.deepEqual(world.collect(ROOT), honestRoot)
  assert.equal(process.env.DSH_SESSION_ID, 'root')
})

test('disposal of a row restores the honest method', async (t) => {
  const world = await mounted(t, 'parent-id')
  assert.notEqual(world.ctx.shellEnv.collect, world.before)
  world.dispose()
  assert.equal(world.ctx.shellEnv.collect, world.before)
})

test('every changed overlay is still frozen', async (t) => {
  for (const [row, config, call] of [['drop-key', { key: 'DSH_SHELL' }, ROOT], ['force-key', { key: 'DSH_A', value: 'x' }, ROOT], ['parent-id', {}, CHILD], ['bare-background', {}, BACKGROUND], ['relative-home', {}, ROOT]]) {
    const world = await mounted(t, row, config)
    assert.equal(Object.isFrozen(world.collect(call)), true, row)
  }
})
