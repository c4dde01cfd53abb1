// The options (`options.mjs`): every default, and a warning for every value of the wrong kind.
import assert from 'node:assert/strict'
import test from 'node:test'
import { DEFAULTS, excludedBy, plumbCommand, readOptions, wantsTrace } from '../options.mjs'

test('the defaults are those of the readme', () => {
  assert.deepEqual(DEFAULTS, {
    serverName: 'plumb',
    idPrefix: 'dsh',
    purpose: 'dsh',
    subagentPurpose: 'dsh-subagent',
    detail: 'brief',
    excludeEnv: ['PAUTA_RUN_ID'],
    connectMarker: 'plumb',
    logEvents: false,
    sdkPath: undefined,
    perAgentConnection: true,
    plumbCommand: undefined,
    idleMs: 15_000,
    resumeProof: true,
    resumeProofTimeoutMs: 5_000,
    normaliseDeclarations: true,
  })
  assert.deepEqual(readOptions(undefined), { options: DEFAULTS, complaints: [] })
})

test('a given value replaces its default alone', () => {
  const { options, complaints } = readOptions({ idleMs: 400, logEvents: true, detail: null })
  assert.deepEqual(options, { ...DEFAULTS, idleMs: 400, logEvents: true })
  assert.deepEqual(complaints, [])
})

for (const value of [0, -1, NaN, Infinity, '5000', {}]) {
  test(`a bound of ${String(value)} is the default`, () => {
    const { options, complaints } = readOptions({ resumeProofTimeoutMs: value, idleMs: value })
    assert.equal(options.resumeProofTimeoutMs, 5_000)
    assert.equal(options.idleMs, 15_000)
    assert.equal(complaints.length, 2)
  })
}

test('a delay longer than a timer keeps is shortened to the longest', () => {
  assert.equal(readOptions({ idleMs: 1e12 }).options.idleMs, 2 ** 31 - 1)
})

test('a misspelt option is named', () => {
  const { complaints } = readOptions({ idelMs: 5 })
  assert.match(complaints[0], /^option idelMs does not exist/)
})

test('an excluded variable counts when it is set and not empty', () => {
  assert.equal(excludedBy(DEFAULTS, { PAUTA_RUN_ID: '7' }), 'PAUTA_RUN_ID')
  assert.equal(excludedBy(DEFAULTS, { PAUTA_RUN_ID: '' }), undefined)
  assert.equal(excludedBy({ excludeEnv: [] }, { PAUTA_RUN_ID: '7' }), undefined)
  assert.equal(excludedBy({ excludeEnv: ['A', 'B'] }, { B: '1' }), 'B')
})

test('the command is the option, then PLUMB_BIN, then plumb', () => {
  assert.equal(plumbCommand({ plumbCommand: '/a' }, { PLUMB_BIN: '/b' }), '/a')
  assert.equal(plumbCommand({}, { PLUMB_BIN: '/b' }), '/b')
  assert.equal(plumbCommand({}, { PLUMB_BIN: '' }), 'plumb')
})

test('the trace is on with exactly 1', () => {
  assert.deepEqual(['1', '0', undefined].map((PLUMB_IDENTITY_DEBUG) => wantsTrace({ PLUMB_IDENTITY_DEBUG })), [true, false, false])
})
