// Options: what the row's config and the environment ask for, checked once.
// Called by index at mount. Never throws: a value that cannot be used becomes a
// complaint and its default, because a typing mistake must not take plumb away.

/** How long an unused connection is kept: 15 s (README, "Options"). */
const IDLE_MS = 15_000
/** How long the proof hook may take: 5 s (README, "Options"). */
const PROOF_TIMEOUT_MS = 5_000
/** The longest delay a Node timer keeps; a longer one fires at once (Node `timers`). */
export const LONGEST_TIMER_MS = 2 ** 31 - 1

const text = { wants: 'a non-empty string', is: (value) => typeof value === 'string' && value !== '' }
const flag = { wants: 'true or false', is: (value) => typeof value === 'boolean' }
const names = { wants: 'a list of names', is: (value) => Array.isArray(value) && value.every((name) => typeof name === 'string') }
const millis = { wants: 'a positive number', is: (value) => Number.isFinite(value) && value > 0 }

const OPTIONS = {
  serverName: [text, 'plumb'],
  idPrefix: [text, 'dsh'],
  purpose: [text, 'dsh'],
  subagentPurpose: [text, 'dsh-subagent'],
  detail: [text, 'brief'],
  excludeEnv: [names, ['PAUTA_RUN_ID']],
  connectMarker: [text, 'plumb'],
  logEvents: [flag, false],
  sdkPath: [text, undefined],
  perAgentConnection: [flag, true],
  plumbCommand: [text, undefined],
  idleMs: [millis, IDLE_MS],
  resumeProof: [flag, true],
  resumeProofTimeoutMs: [millis, PROOF_TIMEOUT_MS],
  normaliseDeclarations: [flag, true],
}

/** The default of every option, by name. */
export const DEFAULTS = Object.freeze(Object.fromEntries(Object.entries(OPTIONS).map(([name, [, value]]) => [name, value])))

/** Reads `config`; returns the options and the complaints about it. */
export function readOptions(config) {
  const given = config ?? {}
  const options = { ...DEFAULTS }
  const complaints = []
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === null) continue
    if (!Object.hasOwn(OPTIONS, name)) {
      complaints.push(`option ${name} does not exist and is ignored; the options are ${Object.keys(OPTIONS).join(', ')}`)
      continue
    }
    const [kind, fallback] = OPTIONS[name]
    if (kind.is(value)) options[name] = kind === millis ? Math.min(value, LONGEST_TIMER_MS) : value
    else complaints.push(`option ${name} is not ${kind.wants}; its default ${JSON.stringify(fallback) ?? '(none)'} is used`)
  }
  return { options: Object.freeze(options), complaints }
}

/** The first variable of `excludeEnv` that is set and not empty, if any. */
export const excludedBy = (options, env) => options.excludeEnv.find((name) => env[name] !== undefined && env[name] !== '')

/** The plumb program: the option, else `PLUMB_BIN`, else `plumb` on PATH. */
export const plumbCommand = (options, env) => options.plumbCommand ?? (env.PLUMB_BIN || 'plumb')

/** Whether the connection lifecycle is traced to stderr. */
export const wantsTrace = (env) => env.PLUMB_IDENTITY_DEBUG === '1'
