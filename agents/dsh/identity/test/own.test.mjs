// The per-agent path, end to end against the stand-in plumb and SDK.
import assert from 'node:assert/strict'
import test from 'node:test'
import { agentOf, createDsh, createStage, mintedId, until } from '../stand-in/stage.mjs'

const namesOf = (stage) => stage.calls().map((call) => call.name)

test('the first call declares the agent on a connection of its own and goes over it', async (t) => {
  const stage = createStage(t)
  const dsh = await createDsh(stage)
  const result = await dsh.plumb(agentOf(stage, 1), 'whoami', { x: 1 })
  const [declared, called] = stage.calls()
  const id = mintedId(1)
  assert.deepEqual(declared.args, { session_id: id, workspace: stage.workspace, purpose: 'dsh', detail: 'brief', mail: 'preview', plumb_agent: id, plumb_hook_proof: `proof-of-${id}` })
  assert.deepEqual([called.name, called.args, called.meta, declared.meta], ['whoami', { x: 1 }, undefined, undefined])
  assert.equal(called.pid, declared.pid)
  assert.equal(result.isError, false)
  assert.equal(result.value.content[0].text, `pid=${called.pid} args={"x":1}`)
  assert.equal(dsh.sharedRuns, 0)
  assert.deepEqual(dsh.warnings(), [])
})

test('with logEvents each route is told, and the own connection is not taken for the shared one', async (t) => {
  const stage = createStage(t)
  const dsh = await createDsh(stage, { logEvents: true })
  await dsh.plumb(agentOf(stage, 1), 'whoami')
  assert.deepEqual(dsh.lines, [
    'debug dsh-plumb-identity: recognised the connection to plumb by its command',
    `debug dsh-plumb-identity: ${mintedId(1)}: whoami over its own connection`,
  ])
})

test('no plumb call, no connection', async (t) => {
  const stage = createStage(t)
  const dsh = await createDsh(stage)
  await dsh.call(agentOf(stage, 1), 'mcp__other__whoami')
  await dsh.call(agentOf(stage, 1), 'bash__x__whoami')
  assert.equal(stage.starts().length, 1)
  assert.deepEqual(namesOf(stage), ['whoami', 'whoami'])
})

test('overlapping first calls of one agent share one connection and one declaration', async (t) => {
  const stage = createStage(t, { declareMs: 100 })
  const dsh = await createDsh(stage)
  await Promise.all([1, 2, 3].map((x) => dsh.plumb(agentOf(stage, 1), 'whoami', { x })))
  assert.deepEqual(namesOf(stage), ['session_start', 'whoami', 'whoami', 'whoami'])
  assert.equal(stage.hooks().length, 1)
  assert.equal(stage.starts().length, 2)
})

test('a subagent has a connection, an id and a purpose of its own', async (t) => {
  const stage = createStage(t)
  const dsh = await createDsh(stage)
  await dsh.plumb(agentOf(stage, 1), 'whoami')
  await dsh.plumb(agentOf(stage, 2, { parentSession: 'p', delegationDepth: 1 }), 'whoami')
  const declared = stage.calls().filter((call) => call.name === 'session_start')
  assert.deepEqual(declared.map(({ args }) => [args.session_id, args.purpose]), [[mintedId(1), 'dsh'], [mintedId(2), 'dsh-subagent']])
  assert.notEqual(declared[0].pid, declared[1].pid)
})

test('an idle connection ends, and the next call opens another for the same id', async (t) => {
  const stage = createStage(t)
  const dsh = await createDsh(stage, { idleMs: 50 })
  await dsh.plumb(agentOf(stage, 1), 'whoami')
  await until('the end of the idle connection', () => stage.ends().length === 1)
  await dsh.plumb(agentOf(stage, 1), 'whoami')
  const declared = stage.calls().filter((call) => call.name === 'session_start')
  assert.deepEqual(declared.map(({ args }) => args.session_id), [mintedId(1), mintedId(1)])
  assert.notEqual(declared[0].pid, declared[1].pid)
  assert.equal(stage.hooks().length, 2)
})

test('a call in flight outlasts the idle time', async (t) => {
  const stage = createStage(t)
  const dsh = await createDsh(stage, { idleMs: 20 })
  const result = await dsh.plumb(agentOf(stage, 1), 'slow', { ms: 300 })
  assert.equal(result.value?.content[0].text, 'slow done')
})

test('a call whose connection dies fails and is not sent again', async (t) => {
  const stage = createStage(t, { dieOn: 'whoami' })
  const dsh = await createDsh(stage)
  const result = await dsh.plumb(agentOf(stage, 1), 'whoami')
  assert.deepEqual(result, { isError: true, error: { message: 'Connection closed' }, content: [{ type: 'text', text: 'Error: Connection closed' }] })
  assert.deepEqual(namesOf(stage), ['session_start', 'whoami'])
  assert.equal(dsh.sharedRuns, 0)
  stage.behave({})
  assert.equal((await dsh.plumb(agentOf(stage, 1), 'whoami')).isError, false)
})

test('an error of the tool reaches the model in the words dsh uses', async (t) => {
  const stage = createStage(t)
  const dsh = await createDsh(stage)
  const result = await dsh.plumb(agentOf(stage, 1), 'fail')
  assert.deepEqual(result.content, [{ type: 'text', text: 'Error: error: refused by the stub' }])
  assert.equal(dsh.sharedRuns, 0)
})

test('an aborted call fails and is not sent again', async (t) => {
  const stage = createStage(t)
  const dsh = await createDsh(stage)
  const abort = new AbortController()
  const pending = dsh.plumb(agentOf(stage, 1), 'slow', { ms: 500 }, abort.signal)
  await until('the call in flight', () => namesOf(stage).includes('slow'))
  abort.abort()
  assert.equal((await pending).isError, true)
  assert.deepEqual(namesOf(stage), ['session_start', 'slow'])
  assert.equal(dsh.sharedRuns, 0)
})

test('tools on later pages are offered, too', async (t) => {
  const stage = createStage(t, { pageSize: 1 })
  const dsh = await createDsh(stage)
  await dsh.plumb(agentOf(stage, 1), 'fail')
  assert.equal(dsh.sharedRuns, 0)
})

test('a tool the own connection does not offer takes the shared path, stamped', async (t) => {
  const stage = createStage(t, { tools: ['session_start'] })
  const dsh = await createDsh(stage)
  await dsh.plumb(agentOf(stage, 1), 'whoami')
  const { meta } = stage.calls().find((call) => call.name === 'whoami')
  assert.deepEqual(meta, { 'dev.plumbkit/logical-agent': mintedId(1) })
  assert.equal(dsh.sharedRuns, 1)
})

test('without a connection each call takes the shared path, stamped, and that is said once', async (t) => {
  const stage = createStage(t)
  const dsh = await createDsh(stage)
  stage.behave({ serve: 'dies' })
  await dsh.plumb(agentOf(stage, 1), 'whoami')
  await dsh.plumb(agentOf(stage, 2), 'whoami')
  const called = stage.calls().filter((call) => call.name === 'whoami')
  assert.deepEqual(called.map(({ meta }) => meta), [1, 2].map((n) => ({ 'dev.plumbkit/logical-agent': mintedId(n) })))
  assert.equal(dsh.warnings().length, 1)
  assert.match(dsh.warnings()[0], /no connection of its own could be opened for dsh-ws-1.*plumb serve/)
})

for (const refuse of ['agent', 'connection']) {
  test(`a declaration refused with scope ${refuse} is reported and not forced on an own connection`, async (t) => {
    const stage = createStage(t, { refuse })
    const dsh = await createDsh(stage)
    const result = await dsh.plumb(agentOf(stage, 1), 'whoami')
    assert.equal(result.isError, false)
    assert.deepEqual(stage.calls().map(({ name, args }) => [name, args.force]), [['session_start', undefined], ['whoami', undefined]])
    assert.equal(dsh.warnings().length, 1)
    assert.match(dsh.warnings()[0], new RegExp(`refused the declaration of ${mintedId(1)} on its own connection \\(scope ${refuse}\\)`))
    assert.doesNotMatch(dsh.warnings()[0], /proof-of/)
    })
}

test('a plumb that does not know mail is declared to without it, on exactly that refusal', async (t) => {
  const stage = createStage(t, { mail: 'unknown' })
  const dsh = await createDsh(stage, { resumeProof: false })
  await dsh.plumb(agentOf(stage, 1), 'whoami')
  await dsh.plumb(agentOf(stage, 2), 'whoami')
  assert.deepEqual(stage.calls().map(({ name, args }) => [name, args.mail]), [['session_start', 'preview'], ['session_start', undefined], ['whoami', undefined], ['session_start', 'preview'], ['session_start', undefined], ['whoami', undefined]])
  assert.equal(dsh.warnings().length, 1)
  assert.match(dsh.warnings()[0], /claims its waiting notes/)
})

test('a declaration of the model is taken over, proved again and reported once', async (t) => {
  const stage = createStage(t)
  const dsh = await createDsh(stage)
  const id = mintedId(1)
  const typed = { session_id: 'mine', workspace: '/elsewhere', plumb_hook_proof: 'typed', mail: 'claim' }
  const result = await dsh.plumb(agentOf(stage, 1), 'session_start', typed)
  await dsh.plumb(agentOf(stage, 1), 'session_start', typed)
  const sent = { session_id: id, workspace: '/elsewhere', mail: 'claim', plumb_agent: id, plumb_hook_proof: `proof-of-${id}` }
  assert.deepEqual(stage.calls().slice(1).map(({ args }) => args), [sent, sent])
  assert.equal(dsh.warnings().length, 1)
  assert.match(dsh.warnings()[0], new RegExp(`"mine".*"${id}"`))
  assert.doesNotMatch(JSON.stringify([result, dsh.lines]), /proof-of/)
})

test('without normalising the declaration goes out verbatim and unproved', async (t) => {
  const stage = createStage(t)
  const dsh = await createDsh(stage, { normaliseDeclarations: false })
  const typed = { session_id: 'mine', workspace: '/elsewhere' }
  await dsh.plumb(agentOf(stage, 1), 'session_start', typed)
  assert.deepEqual(stage.calls()[1].args, typed)
  assert.deepEqual(dsh.warnings(), [])
})

test('dispose ends every connection', async (t) => {
  const stage = createStage(t)
  const dsh = await createDsh(stage)
  await dsh.plumb(agentOf(stage, 1), 'whoami')
  await dsh.plumb(agentOf(stage, 2), 'whoami')
  await dsh.dispose()
  assert.equal(stage.ends().length, 2)
})

test('dispose ends a connection that is still opening', async (t) => {
  const stage = createStage(t)
  const dsh = await createDsh(stage)
  stage.behave({ serve: 'mute' })
  const pending = dsh.plumb(agentOf(stage, 1), 'whoami')
  await until('the opening connection', () => stage.log().filter(({ frame }) => frame?.method === 'initialize').length === 2)
  const disposed = dsh.dispose()
  // Well below the 12 s after which the opening would have given up by itself.
  await until('the end of the opening serve', () => stage.ends().length === 1, 6_000)
  await disposed
  assert.equal((await pending).isError, false)
})

test('a plumb process gets neither dsh variables nor keys, and runs in the workspace', async (t) => {
  const stage = createStage(t)
  Object.assign(process.env, { DSH_SESSION_ID: 'x', FAKE_KEY: 'k', PLUMB_IDENTITY_HOOK: 'off', PLUMB_NAMESPACE: 'n' })
  const dsh = await createDsh(stage)
  await dsh.plumb(agentOf(stage, 1), 'whoami')
  const own = stage.starts()[1]
  assert.deepEqual(['DSH_SESSION_ID', 'FAKE_KEY', 'PLUMB_NAMESPACE', 'PATH'].map((name) => own.env.includes(name)), [false, false, true, true])
  assert.equal(own.cwd, stage.workspace)
  assert.equal(stage.hooks()[0].env.includes('PLUMB_IDENTITY_HOOK'), false)
})
