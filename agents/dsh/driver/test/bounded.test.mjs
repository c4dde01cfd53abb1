//! Bounding: any value becomes plain JSON, and what was cut says so.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bounded } from '../bounded.mjs'

const SMALL = { depth: 2, entries: 3, characters: 5 }

test('plain data passes unchanged', () => {
  const value = { a: [1, 'x', true, null, { b: -0.5 }] }
  assert.deepEqual(bounded(value), value)
})

test('long text, long lists, many keys and deep nesting are cut, each saying how much', () => {
  assert.equal(bounded('123456789', SMALL), '12345… (4 more characters)')
  assert.deepEqual(bounded([1, 2, 3, 4, 5], SMALL), [1, 2, 3, '… (2 more)'])
  assert.deepEqual(bounded({ a: 1, b: 2, c: 3, d: 4 }, SMALL), { a: 1, b: 2, c: 3, '…': '1 more' })
  assert.deepEqual(bounded({ a: { b: { c: 1 } } }, SMALL), { a: { b: '[deeper]' } })
})

test('what JSON cannot say is spelled out', () => {
  const value = { n: NaN, i: -Infinity, big: 12n, f: () => 1, s: Symbol('s'), gone: undefined }
  assert.deepEqual(bounded(value), { n: 'NaN', i: '-Infinity', big: '12n', f: '[function]', s: '[symbol]' })
  assert.equal(bounded(undefined), null)
  assert.deepEqual(bounded([undefined]), [null])
})

test('a cycle ends, and the same object twice is no cycle', () => {
  const loop = { name: 'loop' }
  loop.self = loop
  assert.deepEqual(bounded(loop), { name: 'loop', self: '[cycle]' })
  const shared = { x: 1 }
  assert.deepEqual(bounded([shared, shared]), [{ x: 1 }, { x: 1 }])
})

test('a throwing getter is a finding, and a key named __proto__ stays a key', () => {
  const value = { get broken() { throw new Error('no') } }
  assert.deepEqual(bounded(value), { broken: '[unreadable: no]' })
  assert.deepEqual(Object.keys(bounded(JSON.parse('{"__proto__": 1}'))), ['__proto__'])
})

test('an error keeps its name and message', () => {
  assert.deepEqual(bounded({ e: new RangeError('far') }), { e: { name: 'RangeError', message: 'far' } })
})
