//! Executes operations one after the other and reports each; called by `index.mjs`, hermetic.
//! Must never let one failing operation stop the list, unless that operation says `fatal: true`.

import { bounded } from './bounded.mjs'

/** Thrown by the `exit` operation to end the list early, on purpose. */
export class ExitRequested extends Error {
  constructor(code) {
    super(`exit ${code} requested`)
    this.code = code
  }
}

/**
 * Execute a list of operations.
 * @param ops the operations, `{ op, as?, fatal?, ... }`.
 * @param table the operations that exist, by name: `(op, room) => value`.
 * @param room what the operations share.
 * @param append takes one JSON-safe outcome.
 * @returns the exit code to ask for.
 */
export async function execute(ops, table, room, append) {
  if (!Array.isArray(ops)) throw new TypeError('the operations file must hold a JSON array: write [{"op": "create", ...}, ...]')
  for (const op of ops) {
    const started = room.now()
    const head = { op: op?.op ?? null, ...(op?.as === undefined ? {} : { as: op.as }), ...(op?.session === undefined ? {} : { session: op.session }) }
    try {
      const value = await dispatch(op, table, room)
      append({ ...head, ok: true, value: bounded(value), t: room.now() - started })
    } catch (error) {
      if (error instanceof ExitRequested) {
        append({ ...head, ok: true, value: { code: error.code }, t: room.now() - started })
        append({ done: true, exit: error.code })
        return error.code
      }
      append({ ...head, ok: false, error: describe(error), t: room.now() - started })
      if (op?.fatal === true) {
        append({ done: false, fatal: head.op })
        return 1
      }
    }
  }
  append({ done: true, exit: 0 })
  return 0
}

/** Find the named operation and run it. An unknown name is an error of that one operation. */
async function dispatch(op, table, room) {
  if (op === null || typeof op !== 'object') throw new TypeError('an operation must be an object with an "op" name')
  if (!Object.hasOwn(table, op.op)) throw new TypeError(`unknown operation "${op.op}"; known: ${Object.keys(table).join(', ')}`)
  return table[op.op](op, room)
}

/** The parts of an error that a check may compare; a cause is kept one level deep. */
function describe(error) {
  const parts = {
    name: String(error?.name ?? 'Error'),
    message: bounded(String(error?.message ?? error)),
    ...(error?.code === undefined ? {} : { code: bounded(error.code) }),
  }
  return error?.cause === undefined ? parts : { ...parts, cause: bounded(String(error.cause?.message ?? error.cause)) }
}
