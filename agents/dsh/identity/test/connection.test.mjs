// Own connections (`connection.mjs`): opened once, kept while used, closed when idle.
import assert from 'node:assert/strict'
import test from 'node:test'
import { createConnections } from '../connection.mjs'

const caller = { sessionId: 's' }
const tick = (ms = 0) => new Promise((resolve) => setTimeout(resolve, ms))

/** Connections whose links only record; `log` is the order of what happened. */
function createStand({ idleMs = 1_000_000, open, closeMs = 0 } = {}) {
  const log = []
  const links = []
  const connections = createConnections({
    idleMs,
    trace: () => {},
    open: open ?? (async () => {
      const n = links.length + 1
      const link = { n, closed: false, isClosed: () => link.closed, close: async () => {
        log.push(`closing ${n}`)
        await tick(closeMs)
        link.closed = true
        log.push(`closed ${n}`)
      } }
      links.push(link)
      log.push(`open ${n}`)
      await tick()
      return link
    }),
  })
  return { connections, log, links }
}

test('overlapping borrowers share one link', async () => {
  const { connections, log } = createStand()
  const loans = await Promise.all([1, 2, 3].map(() => connections.borrow(caller)))
  assert.deepEqual(loans.map((loan) => loan.link.n), [1, 1, 1])
  assert.deepEqual(log, ['open 1'])
})

test('sessions do not share links', async () => {
  const { connections } = createStand()
  const loans = await Promise.all(['a', 'b'].map((sessionId) => connections.borrow({ sessionId })))
  assert.deepEqual(loans.map((loan) => loan.link.n), [1, 2])
})

test('a link is closed idle, never while one of two borrowers holds it', async () => {
  const { connections, log } = createStand({ idleMs: 20 })
  const [first, second] = await Promise.all([connections.borrow(caller), connections.borrow(caller)])
  first.giveBack()
  await tick(80)
  assert.deepEqual(log, ['open 1'])
  second.giveBack()
  await tick(80)
  assert.deepEqual(log, ['open 1', 'closing 1', 'closed 1'])
})

test('a new borrower stops the idle clock', async () => {
  const { connections, log } = createStand({ idleMs: 60 })
  ;(await connections.borrow(caller)).giveBack()
  await tick(20)
  await connections.borrow(caller)
  await tick(100)
  assert.deepEqual(log, ['open 1'])
})

test('the next link opens only after the last has ended', async () => {
  const { connections, log } = createStand({ idleMs: 10, closeMs: 80 })
  ;(await connections.borrow(caller)).giveBack()
  await tick(40)
  assert.deepEqual(log, ['open 1', 'closing 1'])
  const loan = await connections.borrow(caller)
  assert.equal(loan.link.n, 2)
  assert.deepEqual(log, ['open 1', 'closing 1', 'closed 1', 'open 2'])
})

test('a link that died is replaced, once for all who ask', async () => {
  const { connections, links } = createStand()
  const loan = await connections.borrow(caller)
  links[0].closed = true
  const next = await Promise.all([connections.borrow(caller), connections.borrow(caller)])
  assert.deepEqual([loan.link.n, ...next.map(({ link }) => link.n)], [1, 2, 2])
})

test('a failure to open reaches all who wait, and the next borrower tries again', async () => {
  let attempts = 0
  const link = { isClosed: () => false, close: async () => {} }
  const { connections } = createStand({
    open: async () => {
      attempts += 1
      if (attempts === 1) throw new Error('no plumb')
      return link
    },
  })
  const outcomes = await Promise.allSettled([connections.borrow(caller), connections.borrow(caller)])
  assert.deepEqual(outcomes.map(({ status }) => status), ['rejected', 'rejected'])
  assert.equal((await connections.borrow(caller)).link, link)
  assert.equal(attempts, 2)
})

test('closeAll ends every link, held or not', async () => {
  const { connections, links } = createStand()
  await connections.borrow({ sessionId: 'a' })
  ;(await connections.borrow({ sessionId: 'b' })).giveBack()
  await connections.closeAll()
  assert.deepEqual(links.map((link) => link.closed), [true, true])
})

test('in any order of borrowing and giving back, no held link is closed', async () => {
  for (let seed = 1; seed <= 20; seed += 1) {
    const random = randomOf(seed)
    const { connections, links } = createStand({ idleMs: 1, closeMs: 2 })
    const user = async () => {
      for (let round = 0; round < 6; round += 1) {
        const { link, giveBack } = await connections.borrow(caller)
        for (let step = 0; step < 3; step += 1) {
          assert.equal(link.closed, false, `seed ${seed}`)
          await tick(random(3))
        }
        giveBack()
        await tick(random(5))
      }
    }
    await Promise.all([user(), user(), user()])
    await connections.closeAll()
    assert.ok(links.every((link) => link.closed))
  }
})

/** Numbers below `n` from a linear congruential generator (Numerical Recipes). */
function randomOf(seed) {
  let state = seed
  return (n) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state % n
  }
}
