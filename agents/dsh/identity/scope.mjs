// The identity scope: which agent the code that is running now works for.
// Opened by dispatch around the shared path of one plumb call, read by stamp.
// Never open around anything else: a request sent inside it is one to plumb.
import { AsyncLocalStorage } from 'node:async_hooks'

/** One scope per mount, so that two mounts never read each other's agents. */
export function createScope() {
  const storage = new AsyncLocalStorage()
  return {
    /** The open call `{ id, caller, stamps }`, or undefined outside any. */
    current: () => storage.getStore(),
    /** Runs `body` as `call`. */
    run: (call, body) => storage.run(call, body),
    /** Runs `body` outside every scope. */
    exit: (body) => storage.exit(body),
  }
}
