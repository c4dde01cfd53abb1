// The minted id: `<prefix>-<workspace slug>-<session short>`.
// Called by dispatch for every routed call. A pure function of the session id and
// its folder, so that a reconnect or a resume in another process names the same
// conversation. Never shortens the session part below 12 hex digits: with four,
// three hundred conversations in one folder are an even chance of two sharing an id.
import { createHash } from 'node:crypto'
import { basename } from 'node:path'

/** Hex digits kept of the session: 48 bits. */
const SHORT_DIGITS = 12
/** Longest workspace slug; the session part tells workspaces of one name apart. */
const SLUG_LENGTH = 24
/** A random (version 4) UUID, with dsh's `session-` in front of it or not. */
const RANDOM_UUID = /^(?:session-)?([0-9a-f]{8})-([0-9a-f]{4})-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i

/** The folder's own name in lower case letters, digits and single hyphens. */
export function workspaceSlug(workspace) {
  const slug = basename(workspace ?? '').toLowerCase().replace(/[^a-z0-9]+/g, '-').slice(0, SLUG_LENGTH).replace(/^-+|-+$/g, '')
  return slug || 'workspace'
}

/**
 * Twelve hex digits that stand for one session: the first of a random UUID, else
 * of the id's SHA-256. Ids that a client chose and time-ordered UUIDs may share
 * their beginning, so they are never cut.
 */
export function sessionShort(sessionId) {
  const uuid = RANDOM_UUID.exec(sessionId)
  if (uuid) return `${uuid[1]}${uuid[2]}`.toLowerCase()
  return createHash('sha256').update(sessionId).digest('hex').slice(0, SHORT_DIGITS)
}

/** The id under which plumb knows this session. */
export const mintId = (prefix, caller) => `${prefix}-${workspaceSlug(caller.workspace)}-${sessionShort(caller.sessionId)}`
