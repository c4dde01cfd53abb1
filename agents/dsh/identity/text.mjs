// Results and errors, turned into the shapes and words that dsh expects.
// Called by dispatch and declare. Pure. Never passes on a result's `_meta`.

/** The text of an MCP result, block by block, as dsh's own client joins it. */
export const textOf = (result) =>
  (Array.isArray(result?.content) ? result.content : []).map((block) => block?.text ?? '').join('\n')

/** What an error says. */
export const messageOf = (error) => (error instanceof Error ? error.message : String(error))

/** Replaces every `secret` in every string of a JSON value. */
export function redact(value, secret) {
  if (!secret) return value
  if (typeof value === 'string') return value.replaceAll(secret, '…')
  if (Array.isArray(value)) return value.map((item) => redact(item, secret))
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, redact(item, secret)]))
}

/** A failed tool call as dsh's runtime states it; it adds no `Error: ` itself. */
export const failure = (message) => ({ isError: true, error: { message }, content: [{ type: 'text', text: `Error: ${message}` }] })

/** dsh's result for what plumb answered. dsh renders `content` anew from `value`. */
export function toDshResult(result) {
  if (result?.isError === true) return failure(textOf(result) || '(no output)')
  const content = Array.isArray(result?.content) ? result.content : [{ type: 'text', text: '(no output)' }]
  const value = result?.structuredContent === undefined ? { content } : { content, structuredContent: result.structuredContent }
  return { isError: false, value, content: [{ type: 'text', text: textOf({ content }) }] }
}
