// The stamp: a patch of the MCP client's `request`, on the class dsh itself uses.
// Installed by index. Adds the agent to `tools/call` requests made inside an
// identity scope, and recognises the plumb connection by its command. Never touches
// a request outside a scope, one of the plugin's own clients, or any other method.
import { commandLine, STAMP_META } from './wire.mjs'

/**
 * Patches `Client`. `beforeCall(client, call)` may return a promise to wait for
 * before the stamped request goes out; it must not reject. `onSeen(client, line)`
 * hears once of every client whose command line contains `marker`.
 * Returns `{ isPlumb, uninstall }`.
 */
export function installStamp({ Client, scope, marker, isOwn, beforeCall, onSeen }) {
  const prototype = ownerOf(Client.prototype, 'request')
  const original = prototype.request
  const plumb = new WeakSet()
  const recognise = (client) => {
    if (plumb.has(client) || isOwn(client)) return
    const line = commandLine(client)
    if (line === undefined || !line.includes(marker)) return
    plumb.add(client)
    onSeen(client, line)
  }

  function request(message, ...rest) {
    recognise(this)
    const call = scope.current()
    if (call === undefined || message?.method !== 'tools/call' || isOwn(this)) return original.call(this, message, ...rest)
    call.stamps += 1
    const stamped = withStamp(message, call.id)
    const waiting = beforeCall(this, call)
    return waiting === undefined ? original.call(this, stamped, ...rest) : waiting.then(() => original.call(this, stamped, ...rest))
  }

  prototype.request = request
  return {
    /** Whether `client` was recognised as the connection to plumb. */
    isPlumb: (client) => plumb.has(client),
    uninstall: () => {
      // A later mount may have wrapped this one; then it stays, and its scope is never open again.
      if (prototype.request === request) prototype.request = original
    },
  }
}

const withStamp = (message, id) => ({
  ...message,
  params: { ...message.params, _meta: { ...message.params?._meta, [STAMP_META]: id } },
})

/** The object of the prototype chain that has `method` itself: in client 2.x a parent class. */
function ownerOf(prototype, method) {
  for (let at = prototype; at !== null; at = Object.getPrototypeOf(at)) if (Object.hasOwn(at, method)) return at
  return prototype
}
