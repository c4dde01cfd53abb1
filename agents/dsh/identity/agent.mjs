// The caller of a tool, read from dsh's `exec`.
// Called by dispatch. Every place in dsh's `exec` that this plugin relies on is
// listed here and looked at on each call; never guesses past a place that moved.

/** The places read, what each must hold, and what is lost when it does not. */
export const FIELDS = Object.freeze([
  { path: 'name', holds: 'the tool, a string', loss: 'no call is attributed' },
  { path: 'arguments', holds: "the call's arguments", loss: 'calls go over the shared connection, as they are' },
  { path: 'agent', holds: 'the calling agent; absent when no agent makes the call', loss: 'the call is not attributed' },
  { path: 'agent.id', holds: 'the session id, a string', loss: 'the call is not attributed unless session.header.id has it' },
  { path: 'agent.session.header', holds: 'an object', loss: 'workspace and purpose are unknown' },
  { path: 'agent.session.header.cwd', holds: 'the workspace, a string', loss: 'the agent is declared without a workspace' },
  { path: 'agent.session.header.parentSession', holds: 'a string on a subagent, else nothing', loss: 'a subagent may be declared as a conversation' },
  { path: 'agent.session.header.delegationDepth', holds: 'a number, or nothing', loss: 'a subagent may be declared as a conversation' },
])

const isText = (value) => typeof value === 'string' && value !== ''
const isAbsent = (value) => value === undefined || value === null

/**
 * Reads the caller: `{ caller, moved }`. `caller` is undefined when no id can be
 * read; `moved` names the fields that are not where they are expected. A call that
 * no agent makes looks like one whose agent moved, and is named as such.
 */
export function readCaller(exec) {
  const agent = exec.agent
  const own = { name: isText(exec.name), arguments: 'arguments' in exec, agent: !isAbsent(agent) }
  if (!own.agent) return { caller: undefined, moved: movedOf(own) }
  const found = agent.session?.header
  const hasHeader = typeof found === 'object' && found !== null
  const header = hasHeader ? found : {}
  const moved = movedOf({
    ...own,
    'agent.id': isText(agent.id),
    'agent.session.header': hasHeader,
    'agent.session.header.cwd': !hasHeader || isText(header.cwd),
    'agent.session.header.parentSession': isAbsent(header.parentSession) || isText(header.parentSession),
    'agent.session.header.delegationDepth': isAbsent(header.delegationDepth) || Number.isFinite(header.delegationDepth),
  })
  const sessionId = [agent.id, header.id].find(isText)
  if (sessionId === undefined) return { caller: undefined, moved }
  const role = isText(header.parentSession) || header.delegationDepth > 0 ? 'subagent' : 'conversation'
  return { caller: { sessionId, workspace: isText(header.cwd) ? header.cwd : undefined, role }, moved }
}

/** The fields for which `holds` says false. */
const movedOf = (holds) => FIELDS.filter((field) => holds[field.path] === false)
