//! A stub of the parts of dsh that the operations touch; used by the tests only, it needs no dsh package.
//! Must never be cleverer than the real one: it does what the real registry was seen to do, and no more.

import { openRoom } from '../room.mjs'

const RESERVED = new Set(['DSH_HOME', 'DSH_SHELL', 'DSH_SESSION_ID'])

/** A room over stub services; the clock counts its own readings. */
export function stubRoom(overrides = {}) {
  const services = {
    agents: stubAgents(),
    sessions: { flush: async () => true },
    shellEnv: stubShellEnv(),
    shell: { resolve: (request) => request, run: async (spec) => ({ exitCode: 0, stdout: { text: spec.command }, stderr: { text: '' } }) },
    tools: { execute: async (call) => ({ isError: false, content: [{ type: 'text', text: `${call.name} ${call.agent?.id ?? 'no agent'}` }], value: { jobId: 'job-7' } }) },
    ...overrides,
  }
  const ctx = {
    get: (name) => services[name],
    on: (event, listener) => services.agents.listen(event, listener),
    plugin: (plugin) => stubFiber(plugin, services),
  }
  let ticks = 0
  return openRoom(ctx, stubDoor(), () => (ticks += 1))
}

/** The door of a build with a plain event array and a `seedLength`, as `openDsh` makes it. */
function stubDoor() {
  return {
    sessionId: (text) => text,
    userMessage: (text) => ({ text }),
    agentOptions: () => ({}),
    events: (session) => session.events,
    forkSource: (session) => ({ seed: session.events, meta: { seedLength: session.events.length } }),
    runShell: (shell, spec) => shell.run(spec),
  }
}

/** Agents that answer each prompt with one bash result and one text. */
function stubAgents() {
  const live = new Map()
  const listeners = new Set()
  const admit = (header, events) => {
    if (live.has(header.id)) throw new Error(`session "${header.id}" is live`)
    const session = { header, events }
    const agent = {
      id: header.id,
      session,
      followup: (message) => answer(session, message.text, listeners),
      whenIdle: async () => {},
    }
    live.set(header.id, agent)
    return { agent, dispose: async () => void live.delete(header.id) }
  }
  const stored = new Map()
  return {
    listen: (_event, listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    create: async ({ sessionId, meta, seed = [] }) => {
      const handle = admit({ id: sessionId, ...meta }, [...seed])
      stored.set(sessionId, handle.agent.session)
      return handle
    },
    resume: async ({ resumeSessionId }) => {
      const session = stored.get(resumeSessionId)
      if (session === undefined) throw new Error(`session "${resumeSessionId}" not found`)
      return admit(session.header, session.events)
    },
  }
}

function answer(session, text, listeners) {
  const append = (type, data) => {
    session.events.push({ type, data, seq: session.events.length })
    for (const listener of listeners) listener(session)
  }
  append('turn/start', {})
  append('tool/result', { message: { content: [{ type: 'tool-result', toolCallId: 'call-1', content: [{ type: 'text', text: `ran for ${session.header.id}` }], isError: false }] } })
  append('assistant/message', { message: { content: [{ type: 'text', text: `heard ${text}` }] } })
  append('turn/end', { reason: { kind: 'completed' } })
}

/** A registry with the refusals and the loud run-time failures of the real one. */
function stubShellEnv() {
  const contributors = new Map()
  const owner = (key) => [...contributors.values()].find((contributor) => Object.hasOwn(contributor.variables, key))
  return {
    register(contributor) {
      if (contributor.name.trim() === '') throw new Error('name must be non-empty')
      if (contributors.has(contributor.name)) throw new Error(`"${contributor.name}" is already registered`)
      for (const [key, variable] of Object.entries(contributor.variables)) {
        if (RESERVED.has(key)) throw new Error(`cannot own reserved key "${key}"`)
        if (variable.description.trim() === '') throw new Error(`must describe "${key}"`)
        if (owner(key) !== undefined) throw new Error(`"${key}" is already owned`)
      }
      contributors.set(contributor.name, contributor)
      return () => contributors.delete(contributor.name)
    },
    collect(execution) {
      const values = { DSH_HOME: '/stub-home', DSH_SHELL: '1', ...(execution.agent === undefined ? {} : { DSH_SESSION_ID: execution.agent.session.header.id }) }
      for (const contributor of contributors.values()) {
        for (const [key, value] of Object.entries(contributor.resolve(execution))) {
          if (!Object.hasOwn(contributor.variables, key)) throw new Error(`returned undeclared key "${key}"`)
          if (typeof value !== 'string') throw new Error(`returned a non-string value for "${key}"`)
          values[key] = value
        }
      }
      return Object.freeze(values)
    },
    list: () => [...contributors.values()].flatMap((contributor) => Object.entries(contributor.variables).map(([key, { description }]) => ({ contributor: contributor.name, key, description }))),
  }
}

/** A plugin's fiber: what it registered goes with it. */
function stubFiber(plugin, services) {
  const undo = []
  const own = { shellEnv: { ...services.shellEnv, register: (contributor) => void undo.push(services.shellEnv.register(contributor)) } }
  plugin.apply(own)
  return { await: async () => {}, dispose: async () => undo.forEach((stop) => stop()) }
}
