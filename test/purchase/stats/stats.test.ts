import { describe, expect, it, vi } from 'vitest'
import { systemClock } from '#src/lib/clock.ts'
import { createRollUps, createStep } from '#src/purchase/stats/roll-ups.ts'
import { type ReadingSupplier, readingSupplier } from '../../support/app/supplier.ts'
import { LOGIN, testApp, testAppBeside } from '../../support/app/test-app.ts'
import { randomBelow } from '../../support/random.ts'
import { storesOfRun } from '../../support/store/stores.ts'
import { until } from '../../support/until.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

const short = (time: number): string => new Date(time).toISOString().replace('.000', '')

const none = {
  Deliveries: { Total: 0, ByStatus: { 0: 0, 1: 0, 2: 0, 3: 0 } },
  Echoes: 0,
  Refusals: { Total: 0, ByCode: {} },
  RefusedLogins: { Total: 0, ByCode: {} },
}

describe.each(storesOfRun())('GET /Purchase/stats on %s', async (_name, emptyStore) => {
  // Whatever the server has not counted yet is counted by the request.
  const service = await testApp({ ...(await emptyStore()), TESLIM_TOKEN_TTL: '31536000' }, { withThreads: true })
  const { app, clock, store } = service
  const main = await readingSupplier(service, { authority: ['*'] })
  const other = await readingSupplier(service)
  const operator = await readingSupplier(service, { scope: 'operator', isApi: true })

  /** Moves on to a time that no other test uses. */
  const begin = (time = '12:00:00.000'): number => {
    clock.time = Date.parse(`${new Date(clock.time + 2 * DAY).toISOString().slice(0, 10)}T${time}Z`)
    return clock.time
  }
  const answer = async (who: ReadingSupplier, query = '') => {
    const found = await who.get(`/Purchase/stats${query}`)
    expect(found.statusCode, found.payload).toBe(200)
    return found.json().data
  }
  const refuse = (payload: string, key = 'unknown') =>
    app.inject({ method: 'POST', url: '/Purchase/update', headers: { ApiKey: key }, payload })

  it('counts deliveries, echoes and refusals by hour, up to the current one, with empty hours', async () => {
    const start = begin('22:30:00.000')
    const midnight = start + 1.5 * HOUR
    await main.deliver({ OrderID: 'a', Status: 1 })
    clock.time = start + HOUR
    await main.deliver({ OrderID: 'a', Status: 1 })
    await main.deliver({ Status: 3 })
    await other.deliver({ Status: 2 })
    await refuse('{}')
    clock.time = start + 3 * HOUR
    await main.deliver({ OrderID: 'a', Status: 0 })
    // A clock that jumped back.
    clock.time = start
    await main.deliver({ OrderID: 'b', Status: 1 })
    clock.time = start + 4 * HOUR
    await app.flushRefusals()
    const all = await answer(operator)
    expect(all).toMatchObject({
      From: short(midnight + 3 * HOUR - DAY),
      To: short(midnight + 3 * HOUR),
      By: 'hour',
      CountedUntil: new Date(start + 4 * HOUR).toISOString(),
    })
    expect(all.Periods).toHaveLength(24)
    expect(all.Periods.at(-1)).toEqual({ From: short(midnight + 2 * HOUR), ...none })
    expect(all.Periods.at(-4)).toEqual({
      From: short(midnight - HOUR),
      Deliveries: { Total: 3, ByStatus: { 0: 0, 1: 1, 2: 1, 3: 1 } },
      Echoes: 1,
      Refusals: { Total: 1, ByCode: { API_KEY_INVALID: 1 } },
      RefusedLogins: { Total: 0, ByCode: {} },
    })
    expect(all.Totals).toEqual({
      Deliveries: { Total: 6, ByStatus: { 0: 1, 1: 3, 2: 1, 3: 1 } },
      Echoes: 1,
      Refusals: { Total: 1, ByCode: { API_KEY_INVALID: 1 } },
      RefusedLogins: { Total: 0, ByCode: {} },
    })
    const day = await answer(main, `?by=day&from=${short(midnight - DAY).slice(0, 10)}&to=${short(midnight + 1000)}`)
    expect(day).toMatchObject({ From: short(midnight - DAY), To: short(midnight + DAY), By: 'day' })
    expect(day.Periods).toEqual([
      {
        ...none,
        From: short(midnight - DAY),
        Deliveries: { Total: 4, ByStatus: { 0: 0, 1: 3, 2: 0, 3: 1 } },
        Echoes: 1,
      },
      { ...none, From: short(midnight), Deliveries: { Total: 1, ByStatus: { 0: 1, 1: 0, 2: 0, 3: 0 } } },
    ])
  })

  it('shows a customer its own counts only, and an operator those of one customer', async () => {
    begin()
    await main.deliver({ Status: 1 })
    await other.deliver({ Status: 2 })
    await other.deliver({ Status: 2 })
    const of = async (who: ReadingSupplier, query = '') => (await answer(who, query)).Totals.Deliveries.Total
    expect([await of(main), await of(other), await of(operator)]).toEqual([1, 2, 3])
    expect(await of(operator, `?customer=${other.customer.id}`)).toBe(2)
    expect(await of(main, `?customer=${main.customer.email}`)).toBe(1)
  })

  it.each([
    ['from=2026-11-21&to=2026-11-21', 'RANGE_INVALID'],
    ['from=2099-01-01', 'RANGE_INVALID'],
    ['from=2026-10-01&to=2026-11-01T00:00:01Z', 'RANGE_INVALID'],
    ['by=day&from=2025-01-01&to=2026-01-03', 'RANGE_INVALID'],
    ['from=0000-01-01&to=9999-12-31', 'RANGE_INVALID'],
  ])('refuses ?%s with 400 %s', async (query, errorCode) => {
    const refused = await main.get(`/Purchase/stats?${query}`)
    expect([refused.statusCode, refused.json().errorCode]).toEqual([400, errorCode])
  })

  it.each([
    'from=2026-10-01&to=2026-11-01',
    'by=day&from=2024-01-01&to=2025-01-01',
    'by=day&from=0000-01-01&to=0000-02-01',
    'to=9999-12-31',
  ])('answers ?%s', async (query) => {
    expect((await answer(main, `?${query}`)).Periods.length).toBeGreaterThan(0)
  })

  it('counts every refusal over HTTP, also those that the audit log does not record one by one', async () => {
    const start = begin()
    const expected = new Map<string, number>()
    const beside = await testAppBeside(service)
    for (let n = 0; n < 200; n++) {
      clock.time = start + randomBelow(3 * HOUR)
      beside.clock.time = clock.time
      const { app: replica } = n % 3 === 0 ? beside : service
      const refused = await [
        () => replica.inject({ method: 'POST', url: '/Purchase/update', payload: '{}' }),
        () => replica.inject({ method: 'POST', url: '/Purchase/update', headers: { ApiKey: 'x' }, payload: '{}' }),
        () =>
          replica.inject({
            method: 'POST',
            url: LOGIN,
            headers: { 'content-type': 'application/json' },
            payload: '{"Email":"no@example.com"}',
          }),
      ][randomBelow(3)]?.()
      const { errorCode } = refused?.json() ?? {}
      const name = `${new Date(clock.time).toISOString().slice(0, 13)} ${errorCode}`
      expected.set(name, (expected.get(name) ?? 0) + 1)
    }
    clock.time = start + 3 * HOUR
    await Promise.all([app.flushRefusals(), beside.app.flushRefusals()])
    const { Periods, Totals } = await answer(operator, `?from=${new Date(start).toISOString()}`)
    const found = new Map<string, number>()
    for (const { From, Refusals, RefusedLogins } of Periods)
      for (const [code, count] of Object.entries({ ...Refusals.ByCode, ...RefusedLogins.ByCode }))
        found.set(`${From.slice(0, 13)} ${code}`, count as number)
    expect([...found].sort()).toEqual([...expected].sort())
    expect(Totals.Refusals.Total + Totals.RefusedLogins.Total).toBe(200)
    expect((await store.audit.list({ from: start, limit: 1000 })).length).toBeLessThan(200)
  })

  it('counts the refusals of a customer for that customer, too', async () => {
    begin()
    const supplier = await readingSupplier(service, { authority: ['A-1'] })
    await expect(supplier.deliver({ Status: 1, ProductID: 'B' })).rejects.toThrow('PRODUCT_NOT_AUTHORIZED')
    await refuse('{}')
    await app.flushRefusals()
    expect((await answer(supplier)).Totals.Refusals).toEqual({ Total: 1, ByCode: { PRODUCT_NOT_AUTHORIZED: 1 } })
    expect((await answer(operator)).Totals.Refusals.Total).toBe(2)
  })
})

it('servers count by themselves, side by side, each delivery once', async () => {
  const service = await testApp({}, { withThreads: true })
  const supplier = await readingSupplier(service)
  for (let n = 0; n < 30; n++) await supplier.deliver({ Status: n % 4 })
  const hour = Math.floor(service.clock.now() / HOUR)
  const range = { customerId: supplier.customer.id, from: hour, to: hour + 1, hoursEach: 1 }
  const counted = async () => (await service.store.rollUps.read(range, 0)).deliveries
  await Promise.all([testAppBeside(service), testAppBeside(service)])
  await until('all are counted', async () => {
    const [{ byStatus = [] } = {}] = await counted()
    return byStatus.reduce((sum, count) => sum + count, 0) >= 30
  })
  expect(await counted()).toEqual([{ period: hour, byStatus: [8, 8, 7, 7], echoes: 0 }])
})

it('deliveries are counted each second where many come, every 15 seconds where few come, and not at all where none comes', async () => {
  let now = 0
  let next = 1000
  let position = 0
  const count = vi.fn(async () => 0)
  const step = createStep({ rollUps: { count }, deliveries: { lastPosition: async () => position } }, systemClock)
  const countsIn = async (seconds: number, perSecond: number): Promise<number> => {
    count.mockClear()
    for (const end = now + seconds * 1000; next <= end; next += await step()) {
      position += ((next - now) / 1000) * perSecond
      now = next
    }
    return count.mock.calls.length
  }
  expect(await countsIn(120, 0)).toBe(1)
  expect(await countsIn(120, 1)).toBe(8)
  count.mockImplementation(async () => 4000)
  expect(await countsIn(120, 1000)).toBeGreaterThan(100)
})

it('a store that cannot count is logged once, and an end does not wait for the next try', async () => {
  const failures: unknown[] = []
  const error = new Error('away')
  const count = vi.fn().mockRejectedValue(error)
  const parts = { rollUps: { count }, deliveries: { lastPosition: async () => 1 } }
  const counting = createRollUps(parts, systemClock, (failure) => failures.push(failure))
  counting.start()
  counting.start()
  await until('it has tried', () => failures.length > 0)
  await counting.stop()
  expect([count.mock.calls.length, failures]).toEqual([1, [error]])
})

it('a store that is away takes the counts of refusals later, once', async () => {
  const service = await testApp({}, { withThreads: true })
  const { app, store, clock } = service
  const operator = await readingSupplier(service, { scope: 'operator' })
  const append = store.audit.append
  let away: boolean = true
  Object.assign(store.audit, {
    append: (...args: Parameters<typeof append>) =>
      away === true ? Promise.reject(new Error('away')) : append(...args),
  })
  for (let n = 0; n < 30; n++) {
    await app.inject({ method: 'POST', url: '/Purchase/update', headers: { ApiKey: 'x' }, payload: '{}' })
    if (n % 10 === 0) await app.flushRefusals()
  }
  away = false
  await app.flushRefusals()
  await app.flushRefusals()
  const hour = Math.floor(clock.now() / HOUR)
  const range = { customerId: undefined, from: hour, to: hour + 1, hoursEach: 1 }
  expect((await store.rollUps.read(range, 0)).refusals).toEqual([
    { period: hour, action: 'delivery.refused', errorCode: 'API_KEY_INVALID', count: 30 },
  ])
  expect((await operator.get('/Purchase/stats')).json().data.Totals.Refusals.Total).toBe(30)
})
