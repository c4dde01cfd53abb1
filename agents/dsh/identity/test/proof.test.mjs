// The resume proof (`proof.mjs`): what the hook is given, what is taken of it, and its bound.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { agentOf, createDsh, createStage, until } from '../stand-in/stage.mjs'
import { askProof } from '../proof.mjs'

const id = 'dsh-ws-1'
const ask = (stage, more) => askProof({ command: stage.command, env: { PATH: process.env.PATH, PLUMB_IDENTITY_HOOK: 'off' }, cwd: stage.workspace, id, declaration: { workspace: '/w' }, timeoutMs: 5_000, unmounted: new AbortController().signal, ...more })

test('the hook is asked as Claude Code asks it, and not told to be off', async (t) => {
  const stage = createStage(t)
  assert.deepEqual(await ask(stage), { fields: { plumb_agent: id, plumb_hook_proof: `proof-of-${id}` } })
  const [hook] = stage.hooks()
  assert.deepEqual(hook.asked, { session_id: id, hook_event_name: 'PreToolUse', tool_name: 'mcp__plumb__session_start', tool_input: { workspace: '/w' } })
  assert.deepEqual([hook.argv, hook.env.includes('PLUMB_IDENTITY_HOOK')], [['hooks', 'run-claude'], false])
})

test('the stamp keeps the key under which the hook gave it', async (t) => {
  const stage = createStage(t, { hook: 'meta' })
  assert.deepEqual(await ask(stage), { fields: { 'dev.plumbkit/logical-agent': id, plumb_hook_proof: `proof-of-${id}` } })
})

const oddities = {
  silent: /answered nothing/,
  garbage: /not answer in JSON/,
  array: /not name this agent/,
  null: /not name this agent/,
  other: /not name this agent/,
  stamp: /gave no proof/,
  number: /gave no proof/,
  flood: /without end|not answer in JSON/,
  fails: /ended with 2/,
}
for (const [hook, reason] of Object.entries(oddities)) {
  test(`an odd answer is no proof: ${hook}`, async (t) => {
    const stage = createStage(t, { hook })
    assert.match((await ask(stage)).none, reason)
    })
}

test('a hook that does not answer is ended at the bound, with its children', async (t) => {
  const stage = createStage(t, { hook: 'hang' })
  const command = join(stage.dir, 'wrapper')
  writeFileSync(command, `#!/bin/sh\n'${stage.command}' "$@"\nexit $?\n`, { mode: 0o755 })
  const answer = ask(stage, { command, timeoutMs: 1_500 })
  await until('the hook', () => stage.hooks().length === 1)
  assert.match((await answer).none, /within 1500 ms/)
  for (const { pid } of stage.hooks()) await until('the end of the hook', () => isGone(pid))
})

test('a program that does not exist is no proof', async (t) => {
  const stage = createStage(t)
  assert.match((await ask(stage, { command: '/nowhere/plumb' })).none, /did not start/)
  assert.match((await ask(stage, { command: '' })).none, /did not start/)
})

test('without a proof the declaration goes out unproved, warned of once for the process', async (t) => {
  const stage = createStage(t, { hook: 'silent' })
  const dshs = [await createDsh(stage), await createDsh(stage)]
  for (const dsh of dshs) for (const n of [1, 2]) await dsh.plumb(agentOf(stage, n), 'whoami')
  const declared = stage.calls().filter(({ name }) => name === 'session_start')
  assert.equal(declared.length, 4)
  for (const { args } of declared) assert.deepEqual(Object.keys(args), ['session_id', 'workspace', 'purpose', 'detail', 'mail'])
  assert.deepEqual(dshs.map((dsh) => dsh.warnings().length), [1, 0])
})

test('a declaration of the model is a second chance for the proof', async (t) => {
  const stage = createStage(t, { hook: 'silent' })
  const dsh = await createDsh(stage)
  await dsh.plumb(agentOf(stage, 1), 'whoami')
  stage.behave({ hook: 'proof' })
  await dsh.plumb(agentOf(stage, 1), 'session_start', { workspace: '/w' })
  const [opening, , second] = stage.calls()
  assert.equal(opening.args.plumb_hook_proof, undefined)
  assert.match(second.args.plumb_hook_proof, /^proof-of-dsh/)
})

test('resumeProof false asks no hook', async (t) => {
  const stage = createStage(t)
  const dsh = await createDsh(stage, { resumeProof: false })
  await dsh.plumb(agentOf(stage, 1), 'session_start', {})
  assert.equal(stage.hooks().length, 0)
  assert.equal(stage.calls().some(({ args }) => args.plumb_hook_proof), false)
})

function isGone(pid) {
  try {
    process.kill(pid, 0)
    return false
  } catch {
    return true
  }
}
