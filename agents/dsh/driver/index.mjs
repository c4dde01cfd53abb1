//! The plugin row: stands in place of the headless runner, executes `config.ops`, appends outcomes to `config.out`.
//! Loaded by dsh from a copy under `<DSH_HOME>/profiles/<p>/`, where bare imports of dsh packages resolve.
//! Must never read the environment for its settings, and never end the process by itself: it asks dsh to exit.

import { appendFileSync, readFileSync } from 'node:fs'
import * as agentPackage from '@deepseek-ai/dsh-agent'
import * as llmPackage from '@deepseek-ai/dsh-llm'
import * as sessionPackage from '@deepseek-ai/dsh-session'
import * as persistencePackage from '@deepseek-ai/dsh-session-persistence'
import { openDsh } from './dsh.mjs'
import { execute } from './interpreter.mjs'
import { operations } from './operations.mjs'
import { openRoom } from './room.mjs'

export const name = 'dsh-e2e-driver'

// Only what every composition has: persistence may be disabled, so it is looked up when an operation needs it.
export const inject = ['agentDefaultModel', 'agents', 'sessions', 'tools', 'shell', 'shellEnv']

/**
 * Mount the driver.
 * @param ctx the plugin's cordis context.
 * @param config `{ ops, out }`: the operations to read (JSON) and the file to append outcomes to (JSON lines).
 */
export function apply(ctx, config) {
  const exit = ctx.get('appExit')
  const append = (outcome) => appendFileSync(config.out, `${JSON.stringify(outcome)}\n`)
  drive(ctx, config, append).then(
    (code) => exit(code),
    (error) => {
      append({ done: false, error: { name: error?.name ?? 'Error', message: String(error?.message ?? error) } })
      exit(1)
    },
  )
}

/** Wait for the whole composition, execute the list, and say with which code to exit. */
async function drive(ctx, config, append) {
  const ops = JSON.parse(readFileSync(config.ops, 'utf8'))
  await ctx.get('loader')?.await()
  const room = openRoom(ctx, openDsh(ctx, { agentPackage, llmPackage, sessionPackage, persistencePackage }))
  return execute(ops, operations, room, append)
}
