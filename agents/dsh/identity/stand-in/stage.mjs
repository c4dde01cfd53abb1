// A stage for the tests: the stand-in plumb behind a wrapper, in a folder of its
// own, and a stand-in for dsh's tool runtime with its shared connection.
// Used by test/*.test.mjs. Ends what it started, when the test `t` ends.
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from './sdk/client/index.js'
import { StdioClientTransport } from './sdk/client/stdio.js'
import { apply } from '../index.mjs'

export const SDK = { path: fileURLToPath(new URL('./sdk/client/index.js', import.meta.url)), Client, StdioClientTransport }
const PLUMB = fileURLToPath(new URL('./plumb.mjs', import.meta.url))

/** A session id in dsh's form; `n` tells sessions apart. */
export const sessionId = (n) => `session-${String(n).repeat(8)}-aaaa-4bbb-8ccc-dddddddddddd`
export const mintedId = (n, slug = 'ws') => `dsh-${slug}-${String(n).repeat(8)}aaaa`

export function createStage(t, behaviour = {}) {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'identity-')))
  const workspace = join(dir, 'ws')
  mkdirSync(workspace)
  const command = join(dir, 'plumb')
  const behave = (what) => writeFileSync(join(dir, 'behaviour.json'), JSON.stringify(what))
  behave(behaviour)
  writeFileSync(command, `#!/bin/sh\nexport STUB_DIR='${dir}'\nexec '${process.execPath}' '${PLUMB}' "$@"\n`)
  chmodSync(command, 0o755)
  const log = () => (existsSync(join(dir, 'log.jsonl')) ? readFileSync(join(dir, 'log.jsonl'), 'utf8').trim().split('\n').map((line) => JSON.parse(line)) : [])
  const closers = []
  t.after(async () => {
    await Promise.all(closers.map((close) => close()))
    rmSync(dir, { recursive: true })
  })
  return {
    dir,
    workspace,
    /** What ends before the folder goes. */
    closers,
    command,
    behave,
    log,
    /** Every tools/call seen: `{ pid, name, args, meta }`. */
    calls: () => log().filter((entry) => entry.frame?.method === 'tools/call').map(({ pid, frame: { params } }) => ({ pid, name: params.name, args: params.arguments, meta: params._meta })),
    starts: () => log().filter((entry) => entry.event === 'serve'),
    ends: () => log().filter((entry) => entry.event === 'end'),
    hooks: () => log().filter((entry) => entry.event === 'hook'),
  }
}

/** Waits until `fact()` is truthy and returns it; names `what` when it is not in time. */
export async function until(what, fact, withinMs = 10_000) {
  const deadline = Date.now() + withinMs
  for (;;) {
    const seen = fact()
    if (seen) return seen
    if (Date.now() > deadline) throw new Error(`${what} not seen in ${withinMs} ms`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** dsh, as far as the plugin sees it: a context, a shared connection, tool calls. */
export async function createDsh(stage, config = {}, { Class = Client } = {}) {
  const lines = []
  const listeners = {}
  const cleanups = []
  const ctx = {
    logger: Object.fromEntries(['debug', 'info', 'warn', 'error'].map((level) => [level, (line) => lines.push(`${level} ${line}`)])),
    on: (event, listener) => {
      listeners[event] = listener
    },
    effect: (start) => cleanups.push(start()),
  }
  apply(ctx, { sdkPath: SDK.path, plumbCommand: stage.command, ...config })
  const connect = async () => {
    const client = new Class({ name: 'dsh-mcp-client', version: '0' })
    await client.connect(new StdioClientTransport({ command: stage.command, args: ['serve'], env: process.env }))
    await client.request({ method: 'tools/list', params: {} })
    return client
  }
  const dsh = {
    lines,
    listeners,
    warnings: () => lines.filter((line) => line.startsWith('warn ')),
    shared: await connect(),
    /** A new generation of the shared connection. */
    reconnect: async () => {
      await dsh.shared.close()
      dsh.shared = await connect()
    },
    /** Runs one tool call as the runtime does; `sharedRuns` counts the stock path. */
    sharedRuns: 0,
    call: async (agent, name, args = {}, signal) => {
      const exec = { name, agent, signal, arguments: Object.freeze(args) }
      const next = async () => {
        dsh.sharedRuns += 1
        const answer = await dsh.shared.request({ method: 'tools/call', params: { name: name.split('__')[2], arguments: exec.arguments } })
        return answer.isError ? { isError: true, error: { message: answer.content[0].text } } : { isError: false, value: answer }
      }
      const result = listeners['tools/execute'] ? await listeners['tools/execute'](exec, next) : await next()
      listeners['tools/result']?.(exec, result)
      return result
    },
    plumb: (agent, tool, args, signal) => dsh.call(agent, `mcp__plumb__${tool}`, args, signal),
    dispose: () => Promise.all(cleanups.map((cleanup) => cleanup())),
  }
  stage.closers.push(async () => {
    await dsh.dispose()
    await dsh.shared.close()
  })
  return dsh
}

/** An agent as dsh passes it: session `n`, in the stage's workspace. */
export function agentOf(stage, n, header = {}) {
  const id = sessionId(n)
  return { id, session: { header: { id, cwd: stage.workspace, ...header } } }
}
