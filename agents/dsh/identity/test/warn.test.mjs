// Warnings (`warn.mjs`): each once, to the log and to standard error.
import assert from 'node:assert/strict'
import test from 'node:test'
import { createVoice } from '../warn.mjs'

function createStand(more) {
  const logged = []
  const written = []
  const logger = { warn: (line) => logged.push(line), debug: (line) => logged.push(line) }
  return { logged, written, voice: createVoice({ logger, write: (line) => written.push(line), process: new Set(), ...more }) }
}

test('a warning goes to the log and to stderr, once for its key', () => {
  const { voice, logged, written } = createStand()
  voice.warn('a', 'first')
  voice.warn('a', 'second')
  voice.warn('b', 'third')
  assert.deepEqual(written, ['warning: first', 'warning: third'])
  assert.deepEqual(logged, ['dsh-plumb-identity: first', 'dsh-plumb-identity: third'])
})

test('a warning for the process is given once over all mounts', () => {
  const memory = new Set()
  const stands = [createStand({ process: memory }), createStand({ process: memory })]
  for (const { voice } of stands) voice.warnProcess('a', 'once')
  assert.deepEqual(stands.map(({ written }) => written.length), [1, 0])
})

test('events and traces are silent unless asked for', () => {
  const quiet = createStand()
  quiet.voice.event('e')
  quiet.voice.trace('t')
  assert.deepEqual(quiet.written, [])
  const loud = createStand({ logEvents: true, trace: true })
  loud.voice.event('e')
  loud.voice.trace('t')
  assert.deepEqual(loud.written, ['e', 't'])
})

test('a log or a stream that fails does not reach the caller', () => {
  const fail = () => {
    throw new Error('closed')
  }
  createVoice({ logger: { warn: fail }, write: fail, process: new Set() }).warn('a', 'words')
  createVoice({ write: () => {}, process: new Set() }).warn('a', 'words')
})
