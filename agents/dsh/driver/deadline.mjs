//! Bounds the operations that wait; used by every one of them.
//! Must never wait by time alone: the deadline is only how long a fact may take.

// A held model reply ends by dsh's own idle limit well before this.
const DEFAULT_WITHIN_MS = 60_000

/** Thrown when a fact did not come about in time; says what was last seen. */
export class DeadlineError extends Error {
  constructor(what, within, seen) {
    super(`${what}: not within ${within} ms; last seen: ${seen}`)
    this.name = 'DeadlineError'
  }
}

/**
 * Wait for some work, at most `op.within_ms`.
 * @param op the operation.
 * @param work the promise to wait for; it is left running when the time is up.
 * @param seen says what was seen last, for the error.
 */
export async function within(op, work, seen) {
  const limit = op.within_ms ?? DEFAULT_WITHIN_MS
  let timer
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new DeadlineError(op.op, limit, seen())), limit)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
    work.catch(() => {})
  }
}
