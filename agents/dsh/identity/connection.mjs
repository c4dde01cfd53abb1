// The per-agent connections: opened at first use, kept while used, closed idle.
// Called by dispatch through `borrow`. Knows links `{ isClosed, close }`, not MCP.
// Never closes a link somebody holds, and never opens an agent's next link before
// its last one has ended: plumb resumes only a session whose connection is gone.

/** `open(caller)` makes a link; `trace` hears of the lifecycle. */
export function createConnections({ open, idleMs, trace }) {
  /** By session id: `{ link, users, idle, ending }`; `link` and `ending` are promises. */
  const entries = new Map()

  const entryOf = (sessionId) => {
    const known = entries.get(sessionId) ?? { link: undefined, users: 0, idle: undefined, ending: Promise.resolve() }
    entries.set(sessionId, known)
    return known
  }

  async function start(entry, caller) {
    await entry.ending
    trace(`${caller.sessionId}: opening`)
    const link = await open(caller)
    trace(`${caller.sessionId}: open`)
    return link
  }

  /** The entry's living link, opened if there is none. */
  async function linkOf(entry, caller) {
    const current = entry.link
    if (current !== undefined && !(await current).isClosed()) return current
    // Several callers may find the same dead link; one of them opens the next.
    if (entry.link === current) {
      entry.link = start(entry, caller)
      const opening = entry.link
      opening.catch(() => {
        if (entry.link === opening) entry.link = undefined
      })
    }
    return entry.link
  }

  function end(sessionId, entry, why) {
    clearTimeout(entry.idle)
    const link = entry.link
    entry.link = undefined
    if (link === undefined) return entry.ending
    trace(`${sessionId}: closing (${why})`)
    entry.ending = link
      .then((open) => open.close())
      .catch(() => {})
      .then(() => trace(`${sessionId}: closed`))
      .then(() => {
        if (entry.users === 0 && entry.link === undefined && entries.get(sessionId) === entry) entries.delete(sessionId)
      })
    return entry.ending
  }

  function giveBack(sessionId, entry) {
    entry.users -= 1
    if (entry.users > 0) return
    if (entry.link === undefined) entries.delete(sessionId)
    else entry.idle = setTimeout(() => end(sessionId, entry, `idle for ${idleMs} ms`), idleMs).unref()
  }

  return {
    /**
     * Lends the agent's link until `giveBack` is called, exactly once. Rejects when
     * none can be opened.
     */
    async borrow(caller) {
      const entry = entryOf(caller.sessionId)
      entry.users += 1
      clearTimeout(entry.idle)
      try {
        return { link: await linkOf(entry, caller), giveBack: () => giveBack(caller.sessionId, entry) }
      } catch (error) {
        giveBack(caller.sessionId, entry)
        throw error
      }
    },
    /** Ends every link, in use or not: the plugin goes away. */
    closeAll: () => Promise.all([...entries].map(([sessionId, entry]) => end(sessionId, entry, 'unmounted'))),
  }
}
