// The shared path: stamps and declarations on dsh's one connection.
import assert from 'node:assert/strict'
import test from 'node:test'
import { agentOf, createDsh, createStage, mintedId, SDK } from '../stand-in/stage.mjs'

const stamp = (n) => ({ 'dev.plumbkit/logical-agent': mintedId(n) })
const shape = (stage) => stage.calls().map(({ name, args, meta }) => [name, args.session_id, meta?.['dev.plumbkit/logical-agent']])
const onShared = { perAgentConnection: false }

test('each agent is declared once, outside its scope, and its calls are stamped', async (t) => {
  const stage = createStage(t)
  const dsh = await createDsh(stage, onShared)
  await dsh.plumb(agentOf(stage, 1), 'whoami')
  await dsh.plumb(agentOf(stage, 2, { parentSession: 'p' }), 'whoami')
  await dsh.plumb(agentOf(stage, 1), 'whoami')
  assert.deepEqual(shape(stage), [
    ['session_start', mintedId(1), undefined],
    ['whoami', undefined, mintedId(1)],
    ['session_start', mintedId(2), undefined],
    ['whoami', undefined, mintedId(2)],
    ['whoami', undefined, mintedId(1)],
  ])
  assert.deepEqual(stage.calls()[2].args, { session_id: mintedId(2), workspace: stage.workspace, purpose: 'dsh-subagent', detail: 'brief', mail: 'preview' })
  assert.equal(stage.hooks().length, 0)
  assert.equal(stage.starts().length, 1)
  assert.deepEqual(dsh.warnings(), [])
})

test('calls to other servers and calls that no agent makes carry no stamp', async (t) => {
  const stage = createStage(t)
  const dsh = await createDsh(stage, onShared)
  await dsh.call(agentOf(stage, 1), 'mcp__other__whoami')
  await dsh.plumb(undefined, 'whoami')
  assert.deepEqual(shape(stage), [['whoami', undefined, undefined], ['whoami', undefined, undefined]])
  assert.equal(dsh.warnings().length, 1)
  assert.match(dsh.warnings()[0], /whoami did not have agent .*not attributed/)
})

test('overlapping first calls of one agent share one declaration', async (t) => {
  const stage = createStage(t, { declareMs: 100 })
  const dsh = await createDsh(stage, onShared)
  await Promise.all([1, 2, 3].map((x) => dsh.plumb(agentOf(stage, 1), 'whoami', { x })))
  assert.deepEqual(stage.calls().map(({ name }) => name), ['session_start', 'whoami', 'whoami', 'whoami'])
})

test('a new generation of the connection is declared to again', async (t) => {
  const stage = createStage(t)
  const dsh = await createDsh(stage, onShared)
  await dsh.plumb(agentOf(stage, 1), 'whoami')
  await dsh.reconnect()
  await dsh.plumb(agentOf(stage, 1), 'whoami')
  assert.deepEqual(stage.calls().map(({ name }) => name), ['session_start', 'whoami', 'session_start', 'whoami'])
})

test('a declaration refused for the agent is forced once', async (t) => {
  const stage = createStage(t, { refuse: 'agent' })
  const dsh = await createDsh(stage, onShared)
  await dsh.plumb(agentOf(stage, 1), 'whoami')
  await dsh.plumb(agentOf(stage, 1), 'whoami')
  assert.deepEqual(stage.calls().map(({ name, args }) => [name, args.force]), [['session_start', undefined], ['session_start', true], ['whoami', undefined], ['whoami', undefined]])
  assert.deepEqual(dsh.warnings(), [])
})

for (const [refuse, said] of [['connection', 'connection'], ['other', 'other']]) {
  test(`a declaration refused with scope ${refuse} is reported once and never forced`, async (t) => {
    const stage = createStage(t, { refuse })
    const dsh = await createDsh(stage, onShared)
    await dsh.plumb(agentOf(stage, 1), 'whoami')
    await dsh.plumb(agentOf(stage, 1), 'whoami')
    assert.deepEqual(stage.calls().map(({ name, args }) => [name, args.force]), [['session_start', undefined], ['whoami', undefined], ['whoami', undefined]])
    assert.equal(dsh.warnings().length, 1)
    assert.match(dsh.warnings()[0], new RegExp(`on the shared connection \\(scope ${said}\\): error: session_start: re-pinning`))
    })
}

test('a plumb that does not know mail is asked once for each client, and warned of once', async (t) => {
  const stage = createStage(t, { mail: 'unknown' })
  const dsh = await createDsh(stage, onShared)
  await dsh.plumb(agentOf(stage, 1), 'whoami')
  await dsh.plumb(agentOf(stage, 2), 'whoami')
  await dsh.reconnect()
  await dsh.plumb(agentOf(stage, 1), 'whoami')
  const declared = stage.calls().filter(({ name }) => name === 'session_start')
  assert.deepEqual(declared.map(({ args }) => args.mail), ['preview', undefined, undefined, 'preview', undefined])
  assert.equal(dsh.warnings().length, 1)
})

test('a declaration of the model is taken over, unproved, and reported once', async (t) => {
  const stage = createStage(t)
  const dsh = await createDsh(stage, onShared)
  await dsh.plumb(agentOf(stage, 1), 'session_start', { sessionId: 'mine', workspace: '/elsewhere', plumb_agent: 'mine' })
  assert.deepEqual(stage.calls()[1].args, { workspace: '/elsewhere', session_id: mintedId(1) })
  assert.deepEqual(stage.calls()[1].meta, stamp(1))
  assert.equal(dsh.warnings().length, 1)
})

test('without normalising the declaration goes out verbatim', async (t) => {
  const stage = createStage(t)
  const dsh = await createDsh(stage, { ...onShared, normaliseDeclarations: false })
  await dsh.plumb(agentOf(stage, 1), 'session_start', { session_id: 'mine', plumb_agent: 'mine' })
  assert.deepEqual(stage.calls()[1].args, { session_id: 'mine', plumb_agent: 'mine' })
})

test('a stamp on a class that dsh does not use is said once, with its path', async (t) => {
  // A second copy of the same file: the class that require() would find.
  const { Client } = await import('../stand-in/sdk/client/index.js?another-copy')
  const stage = createStage(t)
  const dsh = await createDsh(stage, onShared, { Class: Client })
  await dsh.plumb(agentOf(stage, 1), 'whoami')
  await dsh.plumb(agentOf(stage, 1), 'whoami')
  assert.deepEqual(shape(stage), [['whoami', undefined, undefined], ['whoami', undefined, undefined]])
  assert.equal(dsh.warnings().length, 1)
  assert.ok(dsh.warnings()[0].includes(`the stamp was put on ${SDK.path}`))
})

test('a call that dsh itself turned away is no missing stamp', async (t) => {
  const stage = createStage(t)
  const dsh = await createDsh(stage, onShared)
  const refusedByDsh = async () => ({ isError: true, error: { message: 'unknown tool', info: { name: 'ToolNotFoundError', code: 'UNKNOWN_TOOL' } } })
  await dsh.listeners['tools/execute']({ name: 'mcp__plumb__nope', agent: agentOf(stage, 1), arguments: {} }, refusedByDsh)
  assert.deepEqual(dsh.warnings(), [])
})

test('a connection without the marker is stamped but not declared on, and that is said once', async (t) => {
  const stage = createStage(t)
  const dsh = await createDsh(stage, { ...onShared, connectMarker: 'no-such-word' })
  await dsh.plumb(agentOf(stage, 1), 'whoami')
  await dsh.plumb(agentOf(stage, 1), 'whoami')
  assert.deepEqual(shape(stage), [['whoami', undefined, mintedId(1)], ['whoami', undefined, mintedId(1)]])
  assert.equal(dsh.warnings().length, 1)
  assert.match(dsh.warnings()[0], /connectMarker/)
})

test('an SDK that cannot be imported is said once, and calls pass unchanged', async (t) => {
  const stage = createStage(t)
  const dsh = await createDsh(stage, { sdkPath: '/nowhere/client/index.js' })
  const result = await dsh.plumb(agentOf(stage, 1), 'whoami')
  await dsh.plumb(agentOf(stage, 1), 'whoami')
  assert.equal(result.isError, false)
  assert.deepEqual(shape(stage), [['whoami', undefined, undefined], ['whoami', undefined, undefined]])
  assert.equal(dsh.warnings().length, 1)
  assert.match(dsh.warnings()[0], /could not be imported.*tried \/nowhere\/client\/index\.js$/)
})

test('dispose takes the stamp off the class', async (t) => {
  const prototype = Object.getPrototypeOf(SDK.Client.prototype)
  const original = prototype.request
  const stage = createStage(t)
  const dsh = await createDsh(stage, onShared)
  await dsh.plumb(agentOf(stage, 1), 'whoami')
  assert.notEqual(prototype.request, original)
  await dsh.dispose()
  assert.equal(prototype.request, original)
})

test('an excluded environment mounts nothing', async (t) => {
  const stage = createStage(t)
  process.env.IDENTITY_TEST_RUN = '1'
  const dsh = await createDsh(stage, { excludeEnv: ['IDENTITY_TEST_RUN'] })
  delete process.env.IDENTITY_TEST_RUN
  assert.deepEqual(dsh.listeners, {})
  await dsh.plumb(agentOf(stage, 1), 'whoami')
  assert.deepEqual(shape(stage), [['whoami', undefined, undefined]])
})

test('events are logged with logEvents alone', async (t) => {
  const stage = createStage(t)
  const dsh = await createDsh(stage, { ...onShared, logEvents: true })
  await dsh.plumb(agentOf(stage, 1), 'whoami')
  assert.deepEqual(dsh.lines.filter((line) => line.includes('stamped')), [`debug dsh-plumb-identity: ${mintedId(1)}: stamped whoami`])
})

test('the options for server, prefix, purpose and detail are used', async (t) => {
  const stage = createStage(t)
  const dsh = await createDsh(stage, { ...onShared, serverName: 'p2', idPrefix: 'x', purpose: 'main', subagentPurpose: 'sub', detail: 'full' })
  await dsh.plumb(agentOf(stage, 1), 'whoami')
  await dsh.call(agentOf(stage, 1), 'mcp__p2__whoami')
  await dsh.call(agentOf(stage, 2, { delegationDepth: 2 }), 'mcp__p2__whoami')
  const declared = stage.calls().filter(({ name }) => name === 'session_start').map(({ args: { session_id, purpose, detail } }) => [session_id.slice(0, 5), purpose, detail])
  assert.deepEqual(declared, [['x-ws-', 'main', 'full'], ['x-ws-', 'sub', 'full']])
})

test('a moved field is reported once and the call goes on', async (t) => {
  const stage = createStage(t)
  const dsh = await createDsh(stage, onShared)
  const agent = { ...agentOf(stage, 1), session: {} }
  await dsh.plumb(agent, 'whoami')
  await dsh.plumb(agent, 'whoami')
  assert.deepEqual(stage.calls()[0].args.workspace, undefined)
  assert.equal(dsh.warnings().length, 1)
  assert.match(dsh.warnings()[0], /agent\.session\.header /)
})

test('arguments that moved leave the call on the shared path, stamped, and that is said once', async (t) => {
  const stage = createStage(t)
  const dsh = await createDsh(stage)
  const exec = { name: 'mcp__plumb__whoami', agent: agentOf(stage, 1) }
  const next = async () => ({ value: await dsh.shared.request({ method: 'tools/call', params: { name: 'whoami', arguments: { from: 'elsewhere' } } }) })
  await dsh.listeners['tools/execute'](exec, next)
  assert.deepEqual(stage.calls().at(-1), { ...stage.calls().at(-1), args: { from: 'elsewhere' }, meta: stamp(1) })
  assert.deepEqual(Object.keys(exec), ['name', 'agent'])
  assert.equal(dsh.warnings().length, 1)
  assert.match(dsh.warnings()[0], /did not have arguments/)
})

test('a waterfall that no longer fires is reported once', async (t) => {
  const stage = createStage(t)
  const dsh = await createDsh(stage)
  delete dsh.listeners['tools/execute']
  await dsh.plumb(agentOf(stage, 1), 'whoami')
  await dsh.plumb(agentOf(stage, 1), 'whoami')
  assert.equal(dsh.warnings().length, 1)
  assert.match(dsh.warnings()[0], /tools\/execute/)
})
