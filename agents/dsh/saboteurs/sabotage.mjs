//! What every saboteur row needs: replacing a method of a live service, and saying that it acted.
//! Imported by the rows beside it, which use node builtins only and so mount from any folder.
//! Must never act without a witness line: a red control whose saboteur was idle is no control.

import { appendFileSync } from 'node:fs'

/** Which calls a row acts on, by the name in its `from`. */
const CALLS = {
  all: () => true,
  foreground: (execution) => execution.arguments?.run_in_background !== true,
  background: (execution) => execution.arguments?.run_in_background === true,
  child: (execution) => headerOf(execution)?.parentSession !== undefined,
  root: (execution) => headerOf(execution) !== undefined && headerOf(execution).parentSession === undefined,
  agentless: (execution) => execution.agent === undefined,
}

/** The session header behind a tool execution, or nothing. */
export function headerOf(execution) {
  return execution.agent?.session.header
}

/**
 * Whether this execution is one the row is for.
 * @param config the row's config; `from` is one of the names above, all calls when absent.
 */
export function concerns(config, execution) {
  const from = config.from ?? 'all'
  const test = CALLS[from]
  if (test === undefined) throw new TypeError(`unknown "from: ${from}"; known: ${Object.keys(CALLS).join(', ')}`)
  return test(execution)
}

/** A function that notes an act of this row in `config.witness` (JSON lines), when one is configured. */
export function witness(saboteur, config) {
  return (act) => {
    if (config.witness !== undefined) appendFileSync(config.witness, `${JSON.stringify({ saboteur, act })}\n`)
  }
}

/**
 * Replace a method of a live service until the row is disposed.
 * @param replacement takes the original, then the call's arguments. The original keeps the caller's own `this`:
 *   dsh ties what a method registers to the plugin that called it.
 */
export function replaceMethod(ctx, service, method, replacement) {
  const own = Object.hasOwn(service, method)
  const original = service[method]
  service[method] = function (...args) {
    return replacement((...given) => original.apply(this, given), ...args)
  }
  ctx.effect(() => () => {
    if (own) service[method] = original
    else delete service[method]
  })
}

/** Change every overlay that the bash tool gets: `change(overlay, execution)` returns the new one. */
export function changeOverlay(ctx, change) {
  replaceMethod(ctx, ctx.shellEnv, 'collect', (collect, execution) => change(collect(execution), execution))
}
