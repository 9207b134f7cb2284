import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import { type Allowance, createRateLimit } from '#src/purchase/intake/rate-limit.ts'
import { failure } from '../../support/app/failure.ts'
import { addSupplier } from '../../support/app/supplier.ts'
import { TestClock, testApp } from '../../support/app/test-app.ts'

async function withKey(settings = {}) {
  const service = await testApp(settings, { withThreads: true })
  const { app } = service
  const { customer, apiKeys, key } = await addSupplier(service)
  const { id } = customer
  const keys = [key, (await apiKeys.issue(id, '')).key] as const
  const deliver = async (ApiKey: string, payload = '{"Status":1,"OrderID":"1"}') => {
    const answer = await app.inject({ method: 'POST', url: '/Purchase/update', headers: { ApiKey }, payload })
    const { 'ratelimit-limit': limit, 'ratelimit-remaining': remaining, 'ratelimit-reset': reset } = answer.headers
    return { answer, status: answer.statusCode, told: [limit, remaining, reset] }
  }
  return { ...service, id, keys, deliver, apiKeys }
}

describe('a key that is limited to 3 deliveries a minute', async () => {
  const { store, clock, id, keys, deliver, app } = await withKey({ TESLIM_RATE_LIMIT: '3' })
  const [key, other] = keys
  const useUp = async (): Promise<void> => {
    for (let i = 0; i < 3; i++) await deliver(key)
  }
  // A minute later each key may do again all that it may.
  beforeEach(() => {
    clock.time += 60_000
  })

  it('is told in each answer how many deliveries are left, and is refused beyond them', async () => {
    const statuses = [await deliver(key), await deliver(key, '{'), await deliver(key)]
    expect(statuses.map(({ status, told }) => [status, told])).toEqual([
      [200, ['3', '2', '20']],
      [400, ['3', '1', '40']],
      [200, ['3', '0', '60']],
    ])
    const before = await store.deliveries.history(id, '1')
    const { answer, told } = await deliver(key)
    expect([answer.statusCode, answer.headers['retry-after'], told]).toEqual([429, '20', ['3', '0', '60']])
    expect(answer.json()).toEqual(
      failure('RATE_LIMITED', {
        message: 'This API key may make 3 deliveries a minute. Nothing was stored; send the request again in 20 s.',
      }),
    )
    expect(await store.deliveries.history(id, '1')).toHaveLength(before.length)
    await app.flushRefusals()
    expect((await store.audit.list({ limit: 1 })).at(0)).toMatchObject({
      action: 'delivery.refused',
      customerId: id,
      details: { errorCode: 'RATE_LIMITED' },
    })
  })

  it('is refused before its body is read, and is not limited by another key', async () => {
    await useUp()
    expect((await deliver(key, 'x'.repeat(2_000_000))).status).toBe(429)
    expect(await deliver(other)).toMatchObject({ status: 200, told: ['3', '2', '20'] })
  })

  it('is told nothing if the key is unknown', async () => {
    expect(await deliver('tsl_unknown')).toMatchObject({ status: 401, told: [undefined, undefined, undefined] })
  })
})

it('without TESLIM_RATE_LIMIT there is no limit and there are no RateLimit headers', async () => {
  const { keys, deliver } = await withKey()
  for (let i = 0; i < 20; i++) {
    expect(await deliver(keys[0])).toMatchObject({ status: 200, told: [undefined, undefined, undefined] })
  }
})

describe('the limit of a key itself', () => {
  const statuses = async (deliver: Awaited<ReturnType<typeof withKey>>['deliver'], key: string) => {
    const all = []
    for (let i = 0; i < 3; i++) all.push(await deliver(key))
    return all.map(({ status, told: [limit, remaining] }) => [status, limit, remaining])
  }
  const free = [200, undefined, undefined]

  it('limits that key where others have no limit', async () => {
    const { id, keys, deliver, apiKeys } = await withKey()
    const { key } = await apiKeys.issue(id, '', undefined, { rateLimit: 2 })
    expect(await statuses(deliver, key)).toEqual([
      [200, '2', '1'],
      [200, '2', '0'],
      [429, '2', '0'],
    ])
    expect(await statuses(deliver, keys[0])).toEqual([free, free, free])
  })

  it('wins over TESLIM_RATE_LIMIT, 0 being no limit, and may be changed', async () => {
    const { id, keys, deliver, apiKeys, clock } = await withKey({ TESLIM_RATE_LIMIT: '1' })
    const { key, view } = await apiKeys.issue(id, '', undefined, { rateLimit: 0 })
    expect(await statuses(deliver, key)).toEqual([free, free, free])
    const set = async (rateLimit: number | null) => {
      await apiKeys.set(view.id, { rateLimit })
      // Accounts are cached for half a second.
      clock.time += 500
      return statuses(deliver, key)
    }
    expect(await set(3)).toEqual([
      [200, '3', '2'],
      [200, '3', '1'],
      [200, '3', '0'],
    ])
    // What was used up counts.
    expect(await set(2)).toEqual([
      [429, '2', '0'],
      [429, '2', '0'],
      [429, '2', '0'],
    ])
    expect(await set(0)).toEqual([free, free, free])
    clock.time += 60_000
    expect(await set(null)).toEqual([
      [200, '1', '0'],
      [429, '1', '0'],
      [429, '1', '0'],
    ])
    expect((await deliver(keys[0])).status).toBe(200)
  })
})

describe('a limit', () => {
  const KEY = { id: '01a209bb-6ee2-7e6b-b22b-29a8924d2b38', rateLimit: null }
  const steps = fc.array(fc.record({ wait: fc.nat(130_000), tries: fc.integer({ min: 1, max: 30 }) }), {
    maxLength: 20,
  })

  it('of N allows N deliveries at once and N a minute from then on, at any pace', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), steps, (perMinute, all) => {
        const clock = new TestClock()
        const take = createRateLimit(perMinute, clock)
        const passed: number[] = []
        for (const { wait, tries } of all) {
          clock.time += wait
          for (let i = 0; i < tries; i++) if (take(KEY)?.allowed) passed.push(clock.time)
        }
        for (const [index, start] of passed.entries()) {
          for (const [later, end] of passed.slice(index).entries()) {
            expect(later + 1).toBeLessThanOrEqual(perMinute + ((end - start) * perMinute) / 60_000 + 1e-6)
          }
        }
      }),
    )
  })

  it('tells truthfully when to come back', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100_000 }), steps, (perMinute, all) => {
        const clock = new TestClock()
        const take = createRateLimit(perMinute, clock)
        for (const { wait, tries } of all) {
          clock.time += wait
          for (let i = 0; i < tries; i++) {
            const { allowed, remaining, resetSeconds, retrySeconds } = take(KEY) as Allowance
            expect([remaining >= 0, resetSeconds >= 0 && resetSeconds <= 60]).toEqual([true, true])
            if (allowed) continue
            clock.time += retrySeconds * 1000
            expect(take(KEY)?.allowed).toBe(true)
          }
        }
      }),
    )
  })
})
