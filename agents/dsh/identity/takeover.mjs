// A declaration of the model's own, taken over.
// Called by dispatch on the arguments of every routed call. Pure: returns new
// arguments, never changes the ones given (dsh freezes them). Touches nothing but
// the linkage: workspace, purpose, detail, mail and force are the model's to choose.
import { PROOF_KEY, SESSION_START, STAMP_KEYS } from './wire.mjs'

/** Whether plumb reads `key` as `session_id`: it accepts other spellings (facts: `sessionId`). */
const isSessionId = (key) => key.toLowerCase().replace(/[^a-z]/g, '') === 'sessionid'
const isIdentity = (key) => STAMP_KEYS.includes(key) || key === PROOF_KEY

/**
 * Returns `{ args, typedId }`. A stamp or proof that the model typed is dropped
 * from any call; a session_start also names `id`. `typedId` is what the model
 * called itself, when that was another id. Arguments with nothing to take over
 * come back as they are.
 */
export function takeOver(tool, args, id) {
  const kept = Object.entries(args).filter(([key]) => !isIdentity(key))
  if (tool !== SESSION_START) return { args: kept.length === Object.keys(args).length ? args : Object.fromEntries(kept), typedId: undefined }
  const typed = kept.filter(([key]) => isSessionId(key)).map(([, value]) => value)
  const rest = Object.fromEntries(kept.filter(([key]) => !isSessionId(key)))
  const other = typed.find((value) => value !== id)
  return { args: { ...rest, session_id: id }, typedId: other }
}
