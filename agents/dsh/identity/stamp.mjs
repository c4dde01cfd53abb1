// The stamp: a patch of the MCP client's `request`, on the class dsh itself uses.
// Installed by index. Adds the agent to `tools/call` requests made inside an
// identity scope, and recognises dsh's connection to plumb by its command. Never
// touches a request outside a scope, where the plugin's own clients are used.
import { commandLine, STAMP_META } from './wire.mjs'

/**
 * Patches `Client`. A client whose command line contains `marker` is plumb's, and
 * a stamped request over it waits for `declared(client, call)`, which never
 * rejects. Returns `{ uninstall }`.
 */
export function installStamp({ Client, scope, marker, isOwn, declared, voice }) {
  const prototype = ownerOf(Client.prototype, 'request')
  const original = prototype.request
  const plumb = new WeakSet()
  const recognise = (client) => {
    if (plumb.has(client) || isOwn(client)) return
    if (!commandLine(client)?.includes(marker)) return
    plumb.add(client)
    voice.event('recognised the connection to plumb by its command')
  }

  function request(message, ...rest) {
    recognise(this)
    const call = scope.current()
    if (call === undefined || message?.method !== 'tools/call') return original.call(this, message, ...rest)
    call.stamps += 1
    const stamped = withStamp(message, call.id)
    voice.event(`${call.id}: stamped ${message.params?.name}`)
    const send = () => original.call(this, stamped, ...rest)
    if (plumb.has(this)) return declared(this, call).then(send)
    voice.warn('marker', `the connection that carries these calls shows no command with "${marker}" in it (option connectMarker), so they are stamped but no agent is declared on it`)
    return send()
  }

  prototype.request = request
  return {
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
