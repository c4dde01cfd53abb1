// What the plugin says: each warning once, events and traces on request.
// Used by every other part. On both pinned dsh builds a headless run shows nothing
// of `ctx.logger`, whatever the level, so a warning also goes to stderr. Never
// writes to stdout (it is dsh's answer, or a protocol) and never throws.

const NAME = 'dsh-plumb-identity'
const saidInThisProcess = new Set()

const toStderr = (line) => process.stderr.write(`${NAME}: ${line}\n`)

/** The voice of one mount. `logger` is dsh's, possibly absent. */
export function createVoice({ logger, logEvents = false, trace = false, write = toStderr, process: processWide = saidInThisProcess }) {
  const said = new Set()
  const say = (level, words) => {
    const line = words.replace(/\s*\n\s*/g, ' ')
    try {
      logger?.[level]?.(`${NAME}: ${line}`)
    } catch {
      // A log that fails is no reason to fail a tool call.
    }
    try {
      write(level === 'warn' ? `warning: ${line}` : line)
    } catch {
      // As above: stderr may be closed.
    }
  }
  const once = (memory, key, line) => {
    if (memory.has(key)) return
    memory.add(key)
    say('warn', line)
  }
  return {
    /** Warns once for this mount. */
    warn: (key, line) => once(said, key, line),
    /** Warns once for the process, however often the plugin is mounted. */
    warnProcess: (key, line) => once(processWide, key, line),
    /** One line for each stamp and capture, with `logEvents`. */
    event: (line) => logEvents && say('debug', line),
    /** The connection lifecycle, with `PLUMB_IDENTITY_DEBUG=1`. */
    trace: (line) => trace && say('debug', line),
  }
}
