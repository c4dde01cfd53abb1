// plumb's and MCP's words on the wire, and the two requests this plugin sends.
// Called by serve, declare and dispatch. Knows both client packages (sdk 1.x and
// client 2.x) by the one `request` method they share. Never validates a tool's
// output schema: dsh's own client does not, and a call that took effect must not
// be turned into an error afterwards.

/** The `_meta` key of a call, and the newer argument, that name the agent. */
export const STAMP_META = 'dev.plumbkit/logical-agent'
export const STAMP_KEYS = Object.freeze([STAMP_META, 'plumb_agent'])
export const PROOF_KEY = 'plumb_hook_proof'
export const ERROR_META = 'dev.plumbkit/error'
export const SESSION_START = 'session_start'

/** Accepts any answer: a zod 3 face for sdk 1.x, a Standard Schema face for client 2.x. */
const AS_IT_IS = {
  parse: (value) => value,
  safeParse: (value) => ({ success: true, data: value }),
  '~standard': { version: 1, vendor: 'dsh-plumb-identity', validate: (value) => ({ value }) },
}

/** Sends one `tools/call` and returns plumb's answer unchanged. */
export const callTool = (client, name, args, options) =>
  client.request({ method: 'tools/call', params: { name, arguments: args } }, AS_IT_IS, options)

/** The names of all tools the server offers, over all pages. */
export async function toolNames(client, options) {
  const names = new Set()
  let cursor
  do {
    const page = await client.request({ method: 'tools/list', params: cursor === undefined ? {} : { cursor } }, AS_IT_IS, options)
    for (const tool of page.tools) names.add(tool.name)
    cursor = page.nextCursor
  } while (cursor)
  return names
}

/** The command line of the stdio server behind `client`, or undefined for any other transport. */
export function commandLine(client) {
  const params = client?.transport?._serverParams
  return typeof params?.command === 'string' ? [params.command, ...(params.args ?? [])].join(' ') : undefined
}
