// The plumb identity plugin for dsh: what cordis mounts.
// Wires the parts together; every rule is in the file named after it. Must never
// fail a mount: dsh without identity is better than dsh without a tool.
import { FIELDS } from './agent.mjs'
import { createConnections } from './connection.mjs'
import { declarationOf, declare } from './declare.mjs'
import { createDispatch } from './dispatch.mjs'
import { mintId } from './mint.mjs'
import { excludedBy, plumbCommand, readOptions, wantsTrace } from './options.mjs'
import { askProof } from './proof.mjs'
import { createScope } from './scope.mjs'
import { findSdk, ownTree, profileTree, runningTree } from './sdk.mjs'
import { childEnv, directoryOf, openServe } from './serve.mjs'
import { installStamp } from './stamp.mjs'
import { messageOf, redact } from './text.mjs'
import { createVoice } from './warn.mjs'
import { PROOF_KEY } from './wire.mjs'

export const name = 'dsh-plumb-identity'
export const inject = ['tools']
export { FIELDS }
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
  mount(ctx, { options, voice, env })
}

function mount(ctx, { options, voice, env }) {
  const scope = createScope()
  const own = new WeakSet()
  const mailUnknown = new WeakSet()
  const cleanups = []
  const shared = sharedDeclarations({ options, voice, scope, mailUnknown })

  const ready = prepare().catch((error) => {
    voice.warn('prepare', `could not set itself up (${messageOf(error)}); calls go to plumb without identity`)
    return {}
  })

  async function prepare() {
    const [stampSdk, connectionSdk] = await findBoth({ options, voice, env })
    let stamp
    if (stampSdk !== undefined) {
      stamp = installStamp({
        Client: stampSdk.Client,
        scope,
        marker: options.connectMarker,
        isOwn: (client) => own.has(client),
        beforeCall: (client, call) => shared.before(client, call, stamp.isPlumb(client)),
        onSeen: (client, line) => voice.event(`recognised the connection to plumb: ${line}`),
      })
      cleanups.push(stamp.uninstall)
      voice.trace(`stamp on ${stampSdk.path}`)
    }
    if (connectionSdk === undefined || !options.perAgentConnection) return { stampPath: stampSdk?.path }
    voice.trace(`connections by ${connectionSdk.path}`)
    const connections = createConnections({
      open: (caller) => openLink({ caller, options, voice, env, sdk: connectionSdk, own, mailUnknown }),
      idleMs: options.idleMs,
      trace: voice.trace,
    })
    cleanups.push(connections.closeAll)
    return { connections, stampPath: stampSdk?.path }
  }

  ctx.on('tools/execute', createDispatch({ options, voice, scope, ready }))
  ctx.effect?.(() => async () => {
    await ready
    await Promise.all(cleanups.map((cleanup) => cleanup()))
  })
}

/** The copy for the stamp and the copy for connections; says what is missing. */
async function findBoth({ options, voice, env }) {
  const { sdkPath } = options
  const running = runningTree(process.argv[1])
  const profile = profileTree(env)
  const stamp = await findSdk({ sdkPath, roots: [...running, ...profile, ...ownTree()] })
  const connection = await findSdk({ sdkPath, roots: [...ownTree(), ...profile, ...running] })
  const broken = [...new Set([...stamp.broken, ...connection.broken])]
  if (connection.sdk === undefined) {
    voice.warn('sdk', `the MCP SDK could not be imported, so calls go over dsh's shared connection without the agent's identity; tried ${[...new Set([...broken, ...connection.tried])].join(', ')}`)
  } else if (broken.length > 0) {
    voice.warn('sdk', `a copy of the MCP SDK could not be imported and was passed over: ${broken.join(', ')}; ${connection.sdk.path} is used`)
  }
  return [stamp.sdk, connection.sdk]
}

/** Opens and declares one agent's own connection. */
async function openLink({ caller, options, voice, env, sdk, own, mailUnknown }) {
  const id = mintId(options.idPrefix, caller)
  const command = plumbCommand(options, env)
  const where = { command, env: childEnv(env), cwd: directoryOf(caller.workspace) }
  const serve = await openServe({
    ...where,
    sdk,
    onClient: (client) => own.add(client),
    onClosed: () => voice.trace(`${id}: the serve has ended`),
  })
  /** Stamp and proof for a declaration; asked again only while there is none. */
  let proven
  const proof = async (declaration) => {
    if (!options.resumeProof) return {}
    if (proven === undefined) {
      const answer = await askProof({ ...where, id, declaration, timeoutMs: options.resumeProofTimeoutMs })
      if (answer.none !== undefined) voice.warnProcess('no proof', `plumb gave no resume proof, so reconnects resume by name only and mail bound to a closed connection is lost: ${answer.none}`)
      proven = answer.fields
    }
    return proven ?? {}
  }
  try {
    const declaration = declarationOf(options, caller, id)
    const fields = await proof(declaration)
    const outcome = await declare({ client: serve.client, declaration: { ...declaration, ...fields }, connection: 'own', mailUnknown })
    report({ voice, id, outcome: redact(outcome, fields[PROOF_KEY]), connection: 'own' })
  } catch (error) {
    if (serve.isClosed()) throw new Error(`${command} serve ended before ${id} was declared`)
    voice.warn(`declaration ${id}`, `the declaration of ${id} failed on its own connection: ${messageOf(error)}`)
  }
  return { ...serve, proof }
}

/** The declarations on dsh's shared connection: one for each client and agent. */
function sharedDeclarations({ options, voice, scope, mailUnknown }) {
  const byClient = new WeakMap()

  async function send(client, { id, caller }) {
    try {
      const outcome = await declare({ client, declaration: declarationOf(options, caller, id), connection: 'shared', mailUnknown })
      report({ voice, id, outcome, connection: 'shared' })
    } catch (error) {
      voice.warn(`declaration ${id}`, `the declaration of ${id} failed on the shared connection: ${messageOf(error)}`)
    }
  }

  return {
    /** The agent's declaration on `client`, to wait for before its call. */
    before(client, call, isPlumb) {
      if (!isPlumb) {
        voice.warn('marker', `calls to ${options.serverName} run over a connection whose command does not contain "${options.connectMarker}" (option connectMarker); they are stamped, but no agent is declared on it`)
        return undefined
      }
      const agents = byClient.get(client) ?? new Map()
      byClient.set(client, agents)
      if (!agents.has(call.id)) agents.set(call.id, scope.exit(() => send(client, call)))
      return agents.get(call.id)
    },
  }
}

function report({ voice, id, outcome, connection }) {
  if (outcome.mail === 'claimed') {
    voice.warn('mail', 'this plumb (older than 0.24) does not know mail: "preview", so declaring an agent claims its waiting notes where the model cannot see them; upgrade plumb')
  }
  if (outcome.refusal !== undefined) {
    const { words, scope } = outcome.refusal
    voice.warn(`declaration ${id}`, `plumb refused the declaration of ${id} on ${connection === 'own' ? 'its own' : 'the shared'} connection (scope ${scope ?? 'not given'}), and it was not forced further: ${words}`)
  }
}
