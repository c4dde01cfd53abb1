// One `plumb serve` of an agent's own: started, shaken hands with, ended.
// Called by connection through index. Owns the child's environment and its
// standard error. Never passes dsh's own variables or the user's keys on.
import { readFileSync, statSync } from 'node:fs'
import { messageOf } from './text.mjs'
import { toolNames } from './wire.mjs'

const CLIENT = { name: 'dsh-plumb-identity', version: JSON.parse(readFileSync(new URL('./package.json', import.meta.url), 'utf8')).version }

/** A serve that finds no daemon gives up after 10.1 s (facts/plumb, section 1). */
const OPEN_TIMEOUT_MS = 12_000
/** What dsh keeps from its own MCP children by name, besides `DSH_*`. */
const SECRET_NAME = /KEY|PASSWORD|SECRET|TOKEN/i
const TAIL_LENGTH = 400

/** The environment of every plumb process: the one dsh gives its own MCP rows. */
export const childEnv = (env) =>
  Object.fromEntries(Object.entries(env).filter(([name]) => !SECRET_NAME.test(name) && !name.toUpperCase().startsWith('DSH_')))

/** `workspace` where it is a directory; a spawn in a missing one fails. */
export function directoryOf(workspace) {
  try {
    return workspace !== undefined && statSync(workspace).isDirectory() ? workspace : undefined
  } catch {
    return undefined
  }
}

/**
 * Starts `command serve` in `cwd` and lists its tools. Returns `{ client, tools,
 * isClosed, close }`; rejects with the reason, and the child ended, otherwise.
 * `unmounted` ends it early.
 */
export async function openServe({ sdk, command, env, cwd, unmounted, onClient, onClosed }) {
  if (unmounted.aborted) throw new Error('the plugin was unmounted')
  const transport = new sdk.StdioClientTransport({ command, args: ['serve'], env, cwd, stderr: 'pipe' })
  let tail = ''
  // Read even when nobody asks: a full pipe would stop the serve.
  transport.stderr?.on('data', (chunk) => {
    tail = `${tail}${chunk}`.slice(-TAIL_LENGTH)
  })
  const client = new sdk.Client(CLIENT, { capabilities: {} })
  onClient(client)
  let closed = false
  client.onclose = () => {
    closed = true
    onClosed()
  }
  const giveUp = () => client.close().catch(() => {})
  unmounted.addEventListener('abort', giveUp)
  try {
    await client.connect(transport, { timeout: OPEN_TIMEOUT_MS })
    const tools = await toolNames(client, { timeout: OPEN_TIMEOUT_MS })
    return { client, tools, isClosed: () => closed, close: () => client.close() }
  } catch (error) {
    await giveUp()
    const last = tail.trim().split('\n').at(-1)
    throw new Error(`${command} serve: ${messageOf(error)}${last ? `; it said: ${last}` : ''}`)
  } finally {
    unmounted.removeEventListener('abort', giveUp)
  }
}
