// The plumb identity plugin for dsh: what cordis mounts.
// Wires the parts together; every rule is in the file named after it. Must never
// fail a mount: dsh without identity is better than dsh without a tool.
import { setMaxListeners } from 'node:events'
import { createConnections } from './connection.mjs'
import { createDispatch } from './dispatch.mjs'
import { openLink } from './link.mjs'
import { excludedBy, readOptions, wantsTrace } from './options.mjs'
import { createScope } from './scope.mjs'
import { findSdk, ownTree, profileTree, runningTree } from './sdk.mjs'
import { createSharedDeclarations } from './shared.mjs'
import { installStamp } from './stamp.mjs'
import { messageOf } from './text.mjs'
import { createVoice } from './warn.mjs'

export const name = 'dsh-plumb-identity'
export const inject = ['tools']
export { FIELDS } from './agent.mjs'
export { DEFAULTS } from './options.mjs'

/** Mounts the plugin; `config` is described in README.md, "Options". */
export function apply(ctx, config) {
  const env = process.env
  const { options, complaints } = readOptions(config)
  const voice = createVoice({ logger: ctx.logger, logEvents: options.logEvents, trace: wantsTrace(env) })
  const exclusion = excludedBy(options, env)
  if (exclusion !== undefined) {
    voice.trace(`not mounted: ${exclusion} is set`)
    return
  }
  for (const complaint of complaints) voice.warn(complaint, complaint)

  const scope = createScope()
  const cleanups = []
  const ready = prepare({ options, voice, env, scope, cleanups }).catch((error) => {
    voice.warn('prepare', `could not set itself up (${messageOf(error)}); calls go to plumb without identity`)
    return {}
  })
  const dispatch = createDispatch({ options, voice, scope, ready })
  ctx.on('tools/execute', dispatch.onExecute)
  ctx.on('tools/result', dispatch.onResult)
  ctx.effect(() => async () => {
    await ready
    await Promise.all(cleanups.map((cleanup) => cleanup()))
  })
}

/** Finds the SDK, installs the stamp and makes the connections; fills `cleanups`. */
async function prepare({ options, voice, env, scope, cleanups }) {
  const own = new WeakSet()
  const mailUnknown = new WeakSet()
  const found = await findBoth({ options, voice, env })
  if (found.stamp !== undefined) {
    const stamp = installStamp({
      Client: found.stamp.Client,
      scope,
      marker: options.connectMarker,
      isOwn: (client) => own.has(client),
      declared: createSharedDeclarations({ options, voice, scope, mailUnknown }),
      voice,
    })
    cleanups.push(stamp.uninstall)
  }
  voice.trace(`stamp on ${found.stamp?.path ?? 'nothing'}, connections by ${found.connection?.path ?? 'nothing'}`)
  if (found.connection === undefined || !options.perAgentConnection) return { stampPath: found.stamp?.path }
  const unmount = new AbortController()
  // One listener for each connection that is opening just now.
  setMaxListeners(0, unmount.signal)
  const connections = createConnections({
    open: (caller) => openLink({ caller, options, voice, env, sdk: found.connection, own, mailUnknown, unmounted: unmount.signal }),
    idleMs: options.idleMs,
    trace: voice.trace,
  })
  cleanups.push(() => {
    unmount.abort()
    return connections.closeAll()
  })
  return { connections, stampPath: found.stamp?.path }
}

/** The copy to stamp and the copy to open connections with; says what is missing. */
async function findBoth({ options: { sdkPath }, voice, env }) {
  const running = runningTree(process.argv[1])
  const profile = profileTree(env)
  const stamp = await findSdk({ sdkPath, roots: [...running, ...profile, ...ownTree()] })
  const connection = await findSdk({ sdkPath, roots: [...ownTree(), ...profile, ...running] })
  const broken = [...new Set([...stamp.broken, ...connection.broken])]
  if (connection.sdk === undefined) {
    const tried = [...new Set([...broken, ...connection.tried])].join(', ')
    voice.warn('sdk', `the MCP SDK could not be imported, so calls go over dsh's shared connection without the agent's identity; tried ${tried}`)
  } else if (broken.length > 0) {
    voice.warn('sdk', `a copy of the MCP SDK could not be imported and was passed over: ${broken.join(', ')}; ${connection.sdk.path} is used`)
  }
  return { stamp: stamp.sdk, connection: connection.sdk }
}
