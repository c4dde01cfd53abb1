//! Operations on sessions: create, spawn, fork, resume, prompt, wait, idle, dispose.
//! Called by the interpreter. Must never invent a lineage field: what dsh put in the header is what is reported.

import { randomUUID } from 'node:crypto'
import { within } from './deadline.mjs'
import { keep, named } from './room.mjs'

/** `create {session, id?, cwd? | no_cwd, meta?}`: a root session; without `cwd` it gets the process's own. */
export async function create(op, room) {
  const meta = { ...(op.no_cwd === true ? {} : { cwd: op.cwd ?? process.cwd() }), ...op.meta }
  return publish(room, op, { sessionId: freshId(op, room), meta })
}

/** `spawn {session, from, id?, cwd?, meta?}`: a child as dsh's own delegation makes one, without a seed. */
export async function spawn(op, room) {
  const parent = named(room.sessions, 'session', op.from).agent
  const meta = { ...inheritedCwd(parent, op), ...lineage(parent), ...op.meta }
  return publish(room, op, { sessionId: freshId(op, room), meta, parentAgent: parent })
}

/** `fork {session, from, id?, cwd?, meta?}`: a branch that inherits every completed turn. */
export async function fork(op, room) {
  const parent = named(room.sessions, 'session', op.from).agent
  const { meta: seedMeta, ...seed } = room.dsh.forkSource(parent.session)
  const meta = { ...inheritedCwd(parent, op), parentSession: parent.session.header.id, ...seedMeta, ...op.meta }
  return publish(room, op, { sessionId: freshId(op, room), meta, ...seed })
}

/** `resume {session, from | id}`: load a stored session, by a name used before or by its id. */
export async function resume(op, room) {
  const id = op.id ?? named(room.sessions, 'session', op.from).agent.session.header.id
  const handle = await room.ctx.get('agents').resume({ resumeSessionId: room.dsh.sessionId(id), ...room.dsh.agentOptions() })
  return admit(room, op, handle)
}

/** `prompt {session, text}`: one user message, until the agent is idle and the log is flushed. */
export async function prompt(op, room) {
  const { agent } = named(room.sessions, 'session', op.session)
  return within(op, converse(room, agent, op.text), () => lastEvent(room, agent))
}

/** `prompt_start {session, text}`: the same, not waited for; `wait` collects it. */
export async function promptStart(op, room) {
  const { agent } = named(room.sessions, 'session', op.session)
  if (room.prompts.has(op.session)) throw new Error(`session "${op.session}" already has a prompt under way: wait for it first`)
  const outcome = converse(room, agent, op.text)
  outcome.catch(() => {})
  room.prompts.set(op.session, outcome)
  return { id: agent.session.header.id }
}

/** `wait {session}`: the outcome of the prompt started there. */
export async function wait(op, room) {
  const outcome = named(room.prompts, 'started prompt', op.session)
  const { agent } = named(room.sessions, 'session', op.session)
  const value = await within(op, outcome, () => lastEvent(room, agent))
  room.prompts.delete(op.session)
  return value
}

/** `idle {session}`: until a turn that nobody prompted, such as the one a finished job starts, is over and flushed. */
export async function idle(op, room) {
  const { agent } = named(room.sessions, 'session', op.session)
  await within(op, settle(room, agent), () => lastEvent(room, agent))
  return { events: room.dsh.events(agent.session).length }
}

/** `dispose {session}`: end the live agent; its name stays usable for `resume`. */
export async function dispose(op, room) {
  const handle = named(room.sessions, 'session', op.session)
  await handle.dispose()
  return { id: handle.agent.session.header.id }
}

async function publish(room, op, options) {
  const handle = await room.ctx.get('agents').create({ ...options, ...room.dsh.agentOptions() })
  return admit(room, op, handle)
}

/** A resume may take the name over: the old handle of that name is dead by then. */
function admit(room, op, handle) {
  const name = op.as ?? op.session
  if (op.op === 'resume') room.sessions.delete(name)
  keep(room.sessions, 'session', name, handle)
  const { agent } = handle
  return { id: agent.id, header: { ...agent.session.header }, events: room.dsh.events(agent.session).length }
}

function freshId(op, room) {
  return room.dsh.sessionId(op.id ?? `session-${randomUUID()}`)
}

function inheritedCwd(parent, op) {
  const cwd = op.cwd ?? parent.session.header.cwd
  return cwd === undefined ? {} : { cwd }
}

function lineage(parent) {
  const { id, delegationDepth } = parent.session.header
  return { parentSession: id, origin: 'subagent', delegationDepth: (delegationDepth ?? 0) + 1 }
}

async function converse(room, agent, text) {
  const before = room.dsh.events(agent.session).length
  agent.followup(room.dsh.userMessage(text))
  await settle(room, agent)
  return summary(room.dsh.events(agent.session).slice(before))
}

async function settle(room, agent) {
  await agent.whenIdle()
  await room.ctx.get('sessions').flush(agent.session)
}

function lastEvent(room, agent) {
  return room.dsh.events(agent.session).at(-1)?.type ?? 'no event'
}

/** What a prompt came to: how the turn ended, the last text, and every tool result in order. */
function summary(events) {
  const value = { end: null, text: '', results: [], types: [...new Set(events.map((event) => event.type))].sort() }
  for (const event of events) {
    if (event.type === 'turn/end') value.end = event.data.reason
    if (event.type === 'assistant/message') value.text = texts(event.data.message.content) || value.text
    if (event.type === 'tool/result') value.results.push(result(event.data.message))
  }
  return value
}

/** A tool result is a message of its own in later builds, a block of a message in earlier ones. */
function result(message) {
  const block = message.content.find((part) => part.type === 'tool-result')
  const source = block ?? message
  return { callId: source.toolCallId, text: texts(source.content), isError: source.isError === true }
}

function texts(content) {
  return content.filter((block) => block.type === 'text').map((block) => block.text).join('')
}
