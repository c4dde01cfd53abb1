#!/usr/bin/env node
// A stand-in for plumb, as a program: `serve` and `hooks run-claude`.
// Started by the tests through a wrapper. Behaves as `$STUB_DIR/behaviour.json`
// says and appends every frame, start and end to `$STUB_DIR/log.jsonl`.
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const dir = process.env.STUB_DIR
const behaviour = existsSync(join(dir, 'behaviour.json')) ? JSON.parse(readFileSync(join(dir, 'behaviour.json'), 'utf8')) : {}
const log = (entry) => appendFileSync(join(dir, 'log.jsonl'), `${JSON.stringify({ pid: process.pid, at: Date.now(), ...entry })}\n`)
const ambient = () => ({ env: Object.keys(process.env).sort(), cwd: process.cwd(), argv: process.argv.slice(2) })

const known = { workspace: 1, session_id: 1, language: 1, force: 1, purpose: 1, detail: 1, mail: 1, plumb_agent: 1, plumb_hook_proof: 1 }
const text = (words, more) => ({ content: [{ type: 'text', text: words }], isError: false, ...more })
const refusal = (words, details) => ({ content: [{ type: 'text', text: `error: ${words}` }], isError: true, ...(details && { _meta: { 'dev.plumbkit/error': { kind: 'workspace_boundary', details } } }) })

function sessionStart(args) {
  const keys = { ...known }
  if (behaviour.mail === 'unknown') delete keys.mail
  const unknown = Object.keys(args).sort().find((key) => !keys[key])
  if (unknown) return refusal(`session_start: unknown parameter "${unknown}". Valid parameters: ${Object.keys(keys).join(', ')}`)
  if (behaviour.refuse && !(behaviour.refuse === 'agent' && args.force)) return refusal(`session_start: re-pinning to there: refused ${JSON.stringify(args)}`, { scope: behaviour.refuse })
  return text(`Session started ${JSON.stringify(args)}`)
}

function call(request, send) {
  const { name, arguments: args = {} } = request.params
  const answer = (result) => send({ jsonrpc: '2.0', id: request.id, result })
  if (behaviour.dieOn === name) process.exit(3)
  if (name === 'session_start') return setTimeout(() => answer(sessionStart(args)), behaviour.declareMs ?? 0)
  if (name === 'slow') return setTimeout(() => answer(text('slow done')), args.ms ?? 300)
  if (name === 'fail') return answer(refusal('refused by the stub'))
  return answer(text(`pid=${process.pid} args=${JSON.stringify(args)}`))
}

function page(tools, from) {
  const until = from + (behaviour.pageSize ?? tools.length)
  const shown = tools.slice(from, until).map((name) => ({ name, description: name, inputSchema: { type: 'object' } }))
  return until < tools.length ? { tools: shown, nextCursor: String(until) } : { tools: shown }
}

function serve() {
  log({ event: 'serve', ...ambient() })
  if (behaviour.serve === 'dies') {
    process.stderr.write('serve: no daemon here\n')
    process.exit(1)
  }
  const tools = behaviour.tools ?? ['session_start', 'whoami', 'slow', 'fail']
  const send = (frame) => process.stdout.write(`${JSON.stringify(frame)}\n`)
  const lines = createInterface({ input: process.stdin })
  lines.on('line', (line) => {
    const frame = JSON.parse(line)
    log({ event: 'frame', frame })
    if (frame.id === undefined) return
    const ok = (result) => send({ jsonrpc: '2.0', id: frame.id, result })
    if (behaviour.serve === 'mute') return
    if (frame.method === 'initialize') ok({ protocolVersion: '2024-11-05', capabilities: { tools: {} }, serverInfo: { name: 'plumb', version: 'stub' } })
    else if (frame.method === 'tools/list') ok(page(tools, Number(frame.params?.cursor ?? 0)))
    else if (frame.method === 'tools/call') call(frame, send)
    else send({ jsonrpc: '2.0', id: frame.id, error: { code: -32601, message: `method not found: ${frame.method}` } })
  })
  lines.on('close', () => {
    log({ event: 'end', how: 'eof' })
    process.exit(0)
  })
  process.on('SIGTERM', () => {
    log({ event: 'end', how: 'SIGTERM' })
    process.exit(0)
  })
}

function hook() {
  const asked = readFileSync(0, 'utf8')
  log({ event: 'hook', asked: JSON.parse(asked), ...ambient() })
  const { session_id: id, tool_input: input } = JSON.parse(asked)
  const proved = (fields) => ({ hookSpecificOutput: { hookEventName: 'PreToolUse', updatedInput: { ...input, ...fields } } })
  const says = {
    proof: () => JSON.stringify(proved({ plumb_agent: id, plumb_hook_proof: `proof-of-${id}`, session_id: id })),
    meta: () => JSON.stringify(proved({ 'dev.plumbkit/logical-agent': id, plumb_hook_proof: `proof-of-${id}` })),
    other: () => JSON.stringify(proved({ plumb_agent: 'somebody-else', plumb_hook_proof: 'proof' })),
    stamp: () => JSON.stringify(proved({ plumb_agent: id })),
    number: () => JSON.stringify(proved({ plumb_agent: id, plumb_hook_proof: 7 })),
    garbage: () => 'not json {',
    array: () => '[]',
    null: () => 'null',
    silent: () => '',
    flood: () => 'x'.repeat(1024 * 1024),
  }
  if (behaviour.hook === 'hang') return setInterval(() => {}, 1000)
  if (behaviour.hook === 'fails') process.exit(2)
  return process.stdout.write(says[behaviour.hook ?? 'proof']())
}

if (process.argv[2] === 'serve') serve()
else if (process.argv[2] === 'hooks') hook()
else process.exit(64)
