import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createPool, type Reservation } from '#src/http/body/budget.ts'
import { fetch } from '../support/app/checked-fetch.ts'
import { type Crowd, hold } from '../support/app/hostile.ts'
import { parseAnswers } from '../support/app/raw-http.ts'
import { addSupplier } from '../support/app/supplier.ts'
import { inContainerOf, LOGIN, testApp } from '../support/app/test-app.ts'

const LIMIT = 1000
const PATIENCE = 2000

function newPool() {
  let now = 0
  const pool = createPool(LIMIT, { monotonic: () => now })
  const hold = (owner: string) => {
    const one = { owner, bytes: 0, gone: false, body: undefined as Reservation | undefined }
    one.body = pool.reserve(owner, () => Object.assign(one, { bytes: 0, gone: true }))
    return one
  }
  const extend = (one: ReturnType<typeof hold>, bytes: number): boolean => {
    const isTaken = one.body?.extend(bytes) === true
    Object.assign(one, isTaken ? { bytes: one.bytes + bytes } : { bytes: 0, gone: true })
    return isTaken
  }
  return {
    pool,
    hold,
    extend,
    pass: (milliseconds: number) => {
      now += milliseconds
    },
  }
}

describe('the room for bodies and answers', () => {
  it('is shared so that whoever comes finds some, however greedy the others are', () => {
    const { hold, extend } = newPool()
    const fill = (owner: string): number => {
      let bytes = 0
      while (extend(hold(owner), 10)) bytes += 10
      return bytes
    }
    expect([fill('a'), fill('b'), fill('c'), fill('d')]).toEqual([500, 250, 130, 60])
    expect(extend(hold('newcomer'), 30)).toBe(true)
    expect(extend(hold('a'), 10)).toBe(false)
  })

  it('holds a single body of any size', () => {
    const { hold, extend } = newPool()
    const large = hold('a')
    expect([extend(large, 900), extend(large, 5000), extend(hold('b'), 1)]).toEqual([true, true, false])
  })

  it('is taken from the slow bodies of those who hold more, and not from those who hold less', () => {
    const { hold, extend, pass } = newPool()
    const slow = hold('slow')
    extend(slow, 20)
    const greedy = [hold('greedy'), hold('greedy')]
    for (const one of greedy) extend(one, 240)
    expect(extend(hold('greedy'), 240)).toBe(false)
    pass(PATIENCE)
    const next = hold('greedy')
    expect(extend(next, 240)).toBe(true)
    expect([slow.gone, ...greedy.map(({ gone }) => gone)]).toEqual([false, true, false])
    expect(extend(hold('newcomer'), 300)).toBe(true)
    expect(slow.gone).toBe(false)
  })

  it('counts what is held and nothing else, in any order of events', () => {
    const owner = fc.constantFrom('a', 'b', 'c')
    const step = fc.oneof(
      fc.record({ what: fc.constant('begin' as const), owner }),
      fc.record({ what: fc.constant('extend' as const), which: fc.nat(9), bytes: fc.integer({ min: 1, max: 600 }) }),
      fc.record({ what: fc.constant('complete' as const), which: fc.nat(9) }),
      fc.record({ what: fc.constant('release' as const), which: fc.nat(9) }),
      fc.record({ what: fc.constant('pass' as const), milliseconds: fc.nat(3000) }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const { pool, hold, extend, pass } = newPool()
        const all: ReturnType<typeof hold>[] = []
        const heldBy = (owner?: string) =>
          all.reduce((sum, one) => sum + (owner === undefined || one.owner === owner ? one.bytes : 0), 0)
        for (const step of steps) {
          if (step.what === 'begin') all.push(hold(step.owner))
          else if (step.what === 'pass') pass(step.milliseconds)
          else {
            const one = all[step.which]
            if (one === undefined || one.gone) continue
            const wasAlone = heldBy() === one.bytes
            if (step.what === 'release') {
              one.body?.release()
              Object.assign(one, { bytes: 0, gone: true })
            } else if (step.what === 'complete') one.body?.complete()
            else if (extend(one, step.bytes) && !wasAlone && heldBy() !== one.bytes)
              expect(heldBy()).toBeLessThanOrEqual(LIMIT)
          }
          for (const owner of ['a', 'b', 'c']) expect(pool.available(owner)).toBe(LIMIT - heldBy() - heldBy(owner))
          expect(pool.available('anybody') === pool.limit).toBe(heldBy() === 0)
        }
      }),
    )
  })
})

describe('while unfinished large bodies take up the budget', () => {
  const small = `{"Status":1,"filler":"${'x'.repeat(15_000)}"}`
  const large = `{"Status":1,"filler":"${'x'.repeat(1_000_000)}"}`
  /** The service does not wait for kept connections when it ends. */
  const CLOSING = { Connection: 'close' }
  const refusals = ({ answers }: Crowd) => parseAnswers(answers().join(''))

  /** A service that holds 4 MiB of bodies, half of it for large ones, and ten large ones that never end. */
  async function besideUnfinished() {
    inContainerOf(32 * 1024 * 1024)
    const service = await testApp({}, { withThreads: true })
    const { key } = await addSupplier(service)
    const url = await service.app.listen({ port: 0, host: '127.0.0.1' })
    const holdDelivery = (count: number, length: number, ...bytes: (string | Buffer)[]) =>
      hold(
        { url },
        count,
        `POST /Purchase/update HTTP/1.1\r\nHost: a\r\nApiKey: ${key}\r\nContent-Length: ${length}\r\n\r\n`,
        ...bytes,
      )
    const post = (body: string) =>
      fetch(`${url}/Purchase/update`, { method: 'POST', headers: { ApiKey: key, ...CLOSING }, body })
    const slow = await holdDelivery(10, 1_048_576, Buffer.alloc(1_000_000, 'x'))
    await expect.poll(() => refusals(slow).length, { timeout: 5000 }).toBe(9)
    return { ...service, url, holdDelivery, post, slow }
  }

  it('small ones are taken whole or in pieces, logins are taken, and a large one gets the room of a slow one', async () => {
    const { clock, url, holdDelivery, post, slow } = await besideUnfinished()
    expect((await post('{"Status":1}')).status).toBe(200)
    const inPieces = await holdDelivery(1, small.length, small.slice(0, 3000))
    const whole = await holdDelivery(1, small.length, small.slice(0, 3000), small.slice(3000))
    await expect.poll(() => refusals(whole)).toMatchObject([{ status: 200 }])
    // The server has had it for longer than the whole one, and has not turned it away.
    expect(inPieces.open()).toBe(1)
    const body = JSON.stringify({ Email: 'a@b.co', Password: 'wrong one', callbackData: 'x'.repeat(60_000) })
    const answer = await fetch(url + LOGIN, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', ...CLOSING },
      body,
    })
    expect(await answer.json()).toMatchObject({ errorCode: 'LOGIN_REFUSED' })

    clock.time += 1999
    expect((await post(large)).status).toBe(503)
    clock.time += 1
    expect((await post(large)).status).toBe(200)
    await expect.poll(() => refusals(slow).length).toBe(10)
    expect(new Set(refusals(slow).map(({ status }) => status))).toEqual(new Set([503]))
  })

  it('the log says once that there is too much, and once that it is over', async () => {
    const { log } = await besideUnfinished()
    await expect
      .poll(() => log, { timeout: 5000 })
      .toContainEqual(expect.objectContaining({ msg: 'keeping up again', refused: 9 }))
    expect(log.filter(({ msg }) => String(msg).startsWith('overloaded'))).toHaveLength(1)
    expect(log.filter(({ msg }) => msg === 'request failed')).toEqual([])
  })
})

it('a service holds an eighth of the memory of its container: in bodies, and of deliveries that wait to be stored', async () => {
  inContainerOf(128 * 1024 * 1024)
  const { app, store } = await testApp({}, { withThreads: true })
  const { unauthenticated, small, large, uploads, answers } = app.bodyBudget
  const megabytes = [unauthenticated, small, large, uploads, answers].map(({ limit }) => limit / 1024 / 1024)
  expect(megabytes).toEqual([4, 2, 8, 2, 8])
  expect(store.deliveries.load.maxBytes).toBe(16 * 1024 * 1024)
})
