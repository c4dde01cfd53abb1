// The MCP client that is found (`sdk.mjs`): which copy, in which order, and what is said without one.
import assert from 'node:assert/strict'
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import { findSdk, nodeModulesAbove, profileTree, runningTree } from '../sdk.mjs'

const STAND_IN = fileURLToPath(new URL('../stand-in/sdk/client', import.meta.url))
const V1 = '@modelcontextprotocol/sdk/dist/esm/client/index.js'
const V2 = '@modelcontextprotocol/client/dist/index.mjs'

/** A folder for one test, with the stand-in laid out as the packages given. */
function createTree(t, packages = {}) {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'identity-sdk-')))
  t.after(() => rmSync(root, { recursive: true }))
  for (const [modules, version] of Object.entries(packages)) {
    const entry = join(root, modules, version)
    cpSync(STAND_IN, dirname(entry), { recursive: true })
    if (version === V1) writeFileSync(join(root, modules, '@modelcontextprotocol/sdk/package.json'), '{"type":"module"}')
    else {
      cpSync(join(STAND_IN, 'index.js'), entry)
      cpSync(join(STAND_IN, 'stdio.js'), join(dirname(entry), 'stdio.mjs'))
    }
  }
  return root
}

for (const version of [V1, V2]) {
  test(`a copy is found and its stdio transport beside it: ${version}`, async (t) => {
    const root = createTree(t, { node_modules: version })
    const { sdk, broken } = await findSdk({ roots: nodeModulesAbove(join(root, 'deep', 'down')) })
    assert.equal(sdk.path, join(root, 'node_modules', version))
    assert.equal(typeof sdk.StdioClientTransport, 'function')
    assert.deepEqual(broken, [])
  })
}

test('the nearest copy wins', async (t) => {
  const root = createTree(t, { 'a/node_modules': V1, node_modules: V1 })
  const { sdk } = await findSdk({ roots: nodeModulesAbove(join(root, 'a')) })
  assert.equal(sdk.path, join(root, 'a/node_modules', V1))
})

test('a dangling link is passed over and named', async (t) => {
  const root = createTree(t, { node_modules: V1 })
  const scope = join(root, 'a/node_modules/@modelcontextprotocol')
  mkdirSync(scope, { recursive: true })
  symlinkSync('/nowhere/sdk', join(scope, 'sdk'))
  const { sdk, broken } = await findSdk({ roots: nodeModulesAbove(join(root, 'a')) })
  assert.equal(sdk.path, join(root, 'node_modules', V1))
  assert.deepEqual(broken, [`${join(scope, 'sdk')} (dangling link)`])
})

test('a linked copy is the file it points to: a class is known by its real path', async (t) => {
  const root = createTree(t, { 'store/node_modules': V1 })
  symlinkSync(join(root, 'store/node_modules'), join(root, 'node_modules'))
  const { sdk } = await findSdk({ roots: [join(root, 'node_modules')] })
  assert.equal(sdk.path, join(root, 'store/node_modules', V1))
})

test('a copy that fails to load is passed over and named', async (t) => {
  const root = createTree(t, { 'a/node_modules': V1, node_modules: V1 })
  writeFileSync(join(root, 'a/node_modules', V1), 'export const Client = 1')
  const { sdk, broken } = await findSdk({ roots: nodeModulesAbove(join(root, 'a')) })
  assert.equal(sdk.path, join(root, 'node_modules', V1))
  assert.match(broken[0], /no Client class/)
})

test('sdkPath is taken alone', async (t) => {
  const root = createTree(t, { node_modules: V1 })
  const { sdk, tried } = await findSdk({ sdkPath: '/nowhere/index.js', roots: [join(root, 'node_modules')] })
  assert.deepEqual([sdk, tried], [undefined, ['/nowhere/index.js']])
})

test('nothing found names every path tried', async (t) => {
  const root = createTree(t)
  const { sdk, tried } = await findSdk({ roots: [join(root, 'node_modules')] })
  assert.deepEqual([sdk, tried], [undefined, [V2, V1].map((entry) => join(root, 'node_modules', entry))])
})

test("the running tree is where dsh's own MCP client resolves its packages", (t) => {
  const root = createTree(t)
  const bin = join(root, 'bin/node_modules/@deepseek-ai/dsh/lib/bin.js')
  const client = join(root, 'store/dsh-mcp-client')
  for (const dir of [dirname(bin), client]) mkdirSync(dir, { recursive: true })
  writeFileSync(bin, '')
  symlinkSync(client, join(root, 'bin/node_modules/@deepseek-ai/dsh-mcp-client'))
  symlinkSync(bin, join(root, 'dsh'))
  assert.equal(runningTree(join(root, 'dsh'))[0], join(client, 'node_modules'))
  assert.deepEqual(runningTree(undefined), [])
})

test('the profile tree is that of the dsh home', () => {
  assert.deepEqual(profileTree({ DSH_HOME: '/h' }), ['/h/profiles/node_modules'])
})
