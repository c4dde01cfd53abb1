//! Operations on the shellEnv registry: register, dispose, reload, list, collect.
//! Called by the interpreter. Must never register anything that the operation did not spell out.

import { keep, named } from './room.mjs'

const DESCRIPTION = 'A variable of the conformance driver.'
const UNDECLARED_KEY = 'DSH_E2E_UNDECLARED'

/** What a resolver does, by name; `state` counts the runs of one contributor over all its reloads. */
const BEHAVIOURS = {
  values: (op) => ({ ...op.values }),
  counting: (op, state) => onEach(op, String(state.runs)),
  session: (op, state, execution) => onEach(op, execution.agent?.session.header.id ?? 'no agent'),
  none: () => ({}),
  throws: () => {
    throw new Error('the resolver of the conformance driver throws')
  },
  undeclared: () => ({ [UNDECLARED_KEY]: 'x' }),
  reserved: () => ({ DSH_SESSION_ID: 'forged' }),
  nonstring: (op) => onEach(op, 5),
  undefined: (op) => onEach(op, undefined),
}

/**
 * `register {contributor, variables, values? | behaviour?, missing?, owner?}`.
 * `variables` maps each key to its description, or lists keys; a `null` description is left out.
 * `missing` names the parts of the declaration to leave out: `name`, `variables`, `resolve`.
 * `owner: "driver"` registers on the driver's own fiber; otherwise the contributor gets a plugin of its own.
 */
export async function register(op, room) {
  const state = { op, runs: 0, stop: undefined }
  await mount(op, room, state)
  keep(room.contributors, 'contributor', op.as ?? op.contributor, state)
  return { declared: declarations(room) }
}

/** `dispose_contributor {contributor}`: end the owning plugin and nothing else. */
export async function disposeContributor(op, room) {
  const state = named(room.contributors, 'contributor', op.contributor)
  await state.stop()
  room.contributors.delete(op.contributor)
  return { runs: state.runs, declared: declarations(room) }
}

/** `reload_contributor {contributor, values? | behaviour?, variables?}`: dispose, then mount again, changed. */
export async function reloadContributor(op, room) {
  const state = named(room.contributors, 'contributor', op.contributor)
  await state.stop()
  const gone = declarations(room)
  state.op = { ...state.op, ...op }
  await mount(state.op, room, state)
  return { runs: state.runs, between: gone, declared: declarations(room) }
}

/** `list`: every declaration, and how often each of our resolvers had run before and after asking. */
export async function list(op, room) {
  const before = runs(room)
  return { declared: room.ctx.get('shellEnv').list(), before, after: runs(room) }
}

/** `collect {session?}`: the overlay as the bash tool would get it, with that session's agent or none. */
export async function collect(op, room) {
  const agent = op.session === undefined ? undefined : named(room.sessions, 'session', op.session).agent
  const execution = { callId: 'driver-collect', name: 'bash', arguments: {}, signal: new AbortController().signal, ...(agent === undefined ? {} : { agent }) }
  const env = room.ctx.get('shellEnv').collect(execution)
  return { env: { ...env }, frozen: Object.isFrozen(env), runs: runs(room) }
}

/**
 * Register in a plugin of its own, so that disposal is the plugin's and not a call of ours.
 * A refusal is rethrown here and not from `apply`: dsh would tear the plugin down and hide what the refusal left.
 */
async function mount(op, room, state) {
  const contributor = declare(op, state)
  if (op.owner === 'driver') {
    state.stop = async () => stop()
    const stop = room.ctx.get('shellEnv').register(contributor)
    return
  }
  let refusal
  const fiber = room.ctx.plugin({
    name: `driver-contributor-${op.contributor}`,
    inject: ['shellEnv'],
    apply(own) {
      try {
        own.shellEnv.register(contributor)
      } catch (error) {
        refusal = { error }
      }
    },
  })
  await fiber.await()
  if (refusal !== undefined) throw refusal.error
  state.stop = () => fiber.dispose()
}

/** The declaration, with exactly the parts that the operation asks to leave out left out. */
function declare(op, state) {
  const missing = new Set(op.missing ?? [])
  const behaviour = BEHAVIOURS[op.behaviour ?? 'values']
  if (behaviour === undefined) throw new TypeError(`unknown behaviour "${op.behaviour}"; known: ${Object.keys(BEHAVIOURS).join(', ')}`)
  return {
    ...(missing.has('name') ? {} : { name: op.name ?? op.contributor }),
    ...(missing.has('variables') ? {} : { variables: variables(op) }),
    ...(missing.has('resolve')
      ? {}
      : {
          resolve(execution) {
            state.runs += 1
            return behaviour(state.op, state, execution)
          },
        }),
  }
}

function variables(op) {
  return Object.fromEntries(described(op).map(([key, description]) => [key, description === null ? {} : { description }]))
}

function described(op) {
  if (Array.isArray(op.variables)) return op.variables.map((key) => [key, DESCRIPTION])
  return Object.entries(op.variables ?? {})
}

function onEach(op, value) {
  return Object.fromEntries(described(op).map(([key]) => [key, value]))
}

function declarations(room) {
  return room.ctx.get('shellEnv').list().map((entry) => `${entry.contributor}:${entry.key}`)
}

function runs(room) {
  return Object.fromEntries([...room.contributors].map(([contributor, state]) => [contributor, state.runs]))
}
