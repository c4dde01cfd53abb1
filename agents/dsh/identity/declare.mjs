// The declaration: the session_start the plugin sends for an agent.
// Called by serve (own connection) and by stamp's hook (shared connection). Says
// what plumb answered; never claims mail, and forces only where plumb's own scope
// says that nobody but this agent is moved.
import { callTool, ERROR_META, SESSION_START } from './wire.mjs'
import { textOf } from './text.mjs'

/** plumb before 0.24 refuses the whole call over this argument, in these words. */
const MAIL_UNKNOWN = /\bsession_start: unknown parameter "mail"/
/** How long plumb may take over a declaration: three times the 10 s its serve waits for a daemon. */
export const DECLARE_TIMEOUT_MS = 30_000

/** The arguments that declare `caller` as `id`; mail is looked at, not taken. */
export function declarationOf(options, caller, id) {
  return {
    session_id: id,
    ...(caller.workspace === undefined ? {} : { workspace: caller.workspace }),
    purpose: caller.role === 'subagent' ? options.subagentPurpose : options.purpose,
    detail: options.detail,
    mail: 'preview',
  }
}

const isRefused = (result) => result?.isError === true
const scopeOf = (result) => result?._meta?.[ERROR_META]?.details?.scope

function withoutMail({ mail: _mail, ...rest }) {
  return rest
}

/**
 * Declares over `client`; `connection` says whose it is: `own` or `shared`.
 * `mailUnknown` remembers the clients whose plumb does not know `mail`. Returns
 * `{ mail, refusal }`: whether mail was previewed or claimed, and plumb's words and
 * scope if it refused. Rejects only when the connection fails.
 */
export async function declare({ client, declaration, connection, mailUnknown }) {
  const send = (args) => callTool(client, SESSION_START, args, { timeout: DECLARE_TIMEOUT_MS })
  let args = mailUnknown.has(client) ? withoutMail(declaration) : declaration
  let result = await send(args)
  if (isRefused(result) && args.mail !== undefined && MAIL_UNKNOWN.test(textOf(result))) {
    mailUnknown.add(client)
    args = withoutMail(args)
    result = await send(args)
  }
  if (isRefused(result) && connection === 'shared' && scopeOf(result) === 'agent') result = await send({ ...args, force: true })
  return {
    mail: args.mail === undefined ? 'claimed' : 'previewed',
    refusal: isRefused(result) ? { words: textOf(result), scope: scopeOf(result) } : undefined,
  }
}

/** Says what a declaration cost or why it was refused, once. */
export function reportOutcome({ voice, id, outcome, connection }) {
  if (outcome.mail === 'claimed') {
    voice.warn('mail', 'this plumb (older than 0.24) does not know mail: "preview", so declaring an agent claims its waiting notes where the model cannot see them; upgrade plumb')
  }
  if (outcome.refusal === undefined) return
  const { words, scope } = outcome.refusal
  const where = connection === 'own' ? 'its own connection' : 'the shared connection'
  voice.warn(`declaration ${id}`, `plumb refused the declaration of ${id} on ${where} (scope ${scope ?? 'not given'}): ${words}`)
}
