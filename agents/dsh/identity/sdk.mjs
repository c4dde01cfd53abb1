// The MCP client package: where a copy is, and which one is imported.
// Called by index at mount, twice: for the copy that opens connections, and for
// the class that the running dsh's own client uses, on which the stamp goes. Asks
// the filesystem, not the package's exports map: `require` would find the CommonJS
// class, which installs without a word and never fires (facts 21.7).
// The default export: a packed dsh patches its members, not the named exports.
import fs from 'node:fs'
import { dirname, extname, join } from 'node:path'
import { homedir } from 'node:os'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** The entry of client 2.x and of sdk 1.x, below a node_modules directory. */
const ENTRIES = ['@modelcontextprotocol/client/dist/index.mjs', '@modelcontextprotocol/sdk/dist/esm/client/index.js']
const DSH_CLIENT = '@deepseek-ai/dsh-mcp-client'
const PLUGIN_DIR = dirname(fileURLToPath(import.meta.url))

/** `node_modules` of `dir` and of every directory above it. */
export function nodeModulesAbove(dir) {
  const above = []
  for (let at = dir; ; at = dirname(at)) {
    above.push(join(at, 'node_modules'))
    if (dirname(at) === at) return above
  }
}

/** Where node_modules of the plugin itself may be. */
export const ownTree = (pluginDir = PLUGIN_DIR) => nodeModulesAbove(pluginDir)

/** Where the profiles of this dsh home keep shared packages. */
export const profileTree = (env) => [join(env.DSH_HOME || join(homedir(), '.dsh'), 'profiles', 'node_modules')]

/** Where the running dsh resolves its MCP client's packages. */
export function runningTree(mainScript) {
  const main = realOf(mainScript ?? '')
  if (main === undefined) return []
  const above = nodeModulesAbove(dirname(main))
  const client = above.map((root) => realOf(join(root, DSH_CLIENT))).find((path) => path !== undefined)
  return client === undefined ? above : nodeModulesAbove(client)
}

/**
 * Imports the first copy found in `roots`, or exactly `sdkPath` when it is given.
 * Returns `{ sdk, broken, tried }`: `sdk` is `{ path, Client, StdioClientTransport }`
 * or undefined, `broken` what was there and could not be used, `tried` every path.
 */
export async function findSdk({ sdkPath, roots }) {
  const entries = sdkPath === undefined ? roots.flatMap((root) => ENTRIES.map((entry) => join(root, entry))) : [sdkPath]
  const broken = []
  const tried = []
  for (const entry of new Set(entries)) {
    tried.push(entry)
    const path = realOf(entry)
    if (path === undefined) {
      const link = danglingLink(entry)
      if (link !== undefined) broken.push(`${link} (dangling link)`)
      continue
    }
    try {
      return { sdk: await importSdk(path), broken, tried }
    } catch (error) {
      broken.push(`${path} (${String(error?.message ?? error).split('\n')[0]})`)
    }
  }
  return { sdk: undefined, broken, tried }
}

/** In both packages the stdio transport lies beside the client entry. */
async function importSdk(path) {
  const { Client } = await import(pathToFileURL(path).href)
  if (typeof Client?.prototype?.request !== 'function') throw new Error('it has no Client class with a request method')
  const stdio = await import(pathToFileURL(join(dirname(path), `stdio${extname(path)}`)).href)
  return { path, Client, StdioClientTransport: stdio.StdioClientTransport }
}

function realOf(path) {
  try {
    fs.statSync(path)
  } catch {
    return undefined
  }
  try {
    return fs.realpathSync(path)
  } catch {
    return path
  }
}

/** The first link on the way to `entry` whose target is gone. */
function danglingLink(entry) {
  const above = []
  for (let at = entry; dirname(at) !== at; at = dirname(at)) above.unshift(at)
  return above.find((at) => isLink(at) && realOf(at) === undefined)
}

function isLink(path) {
  try {
    return fs.lstatSync(path).isSymbolicLink()
  } catch {
    return false
  }
}
