import { describe, expect, it } from 'vitest'
import type { KeyLimits } from '#src/customer/api-key.rule.ts'
import { addSupplier, readingSupplier } from '../support/app/supplier.ts'
import { addCustomer, testApp, testAppBeside } from '../support/app/test-app.ts'

const KEYS = '/Customer/keys'
const ok = (data: unknown) => ({ data, success: true, message: 'OK' })
const iso = (milliseconds: number) => new Date(milliseconds).toISOString()

describe('GET /Customer/keys', async () => {
  const service = await testApp()
  const { app, clock, store } = service
  const HOUR = 3_600_000
  const { apiKeys } = await addSupplier(service)
  /** Issues keys of different ages: the ids of one millisecond are in no order. */
  const issuing =
    (customerId: string) =>
    async (label = '', lifetime?: number, limits: KeyLimits = {}): Promise<string> => {
      clock.time++
      return (await apiKeys.issue(customerId, label, lifetime, limits)).view.id
    }

  it('lists the keys of the customer, the oldest first, without the keys or their hashes', async () => {
    const { customer, get, deliver } = await readingSupplier(service)
    const began = clock.now()
    const issue = issuing(customer.id)
    const limits = { networks: ['2001:DB8::/32', '203.0.113.0/24'], rateLimit: 600 }
    const limited = await issue('limited', HOUR, limits)
    const unlimited = await issue('', 1, { rateLimit: 0 })
    const gone = await issue('gone')
    await apiKeys.revoke(gone)
    await deliver({ Status: 1 })
    await app.keyUses.flush()
    const [first] = await store.apiKeys.list(customer.id)
    const usual = {
      State: 'live',
      CreatedAt: iso(began),
      ExpiresAt: null,
      LastUse: null,
      Networks: null,
      RateLimit: null,
    }
    const answer = await get(KEYS)
    expect(answer.json()).toEqual(
      ok({
        Keys: [
          { ...usual, KeyID: first?.id, Label: 'test', LastUse: { UsedAt: iso(clock.now()), Address: '127.0.0.1' } },
          {
            ...usual,
            KeyID: limited,
            Label: 'limited',
            CreatedAt: iso(began + 1),
            ExpiresAt: iso(began + 1 + HOUR),
            Networks: ['203.0.113.0/24', '2001:db8::/32'],
            RateLimit: 600,
          },
          {
            ...usual,
            KeyID: unlimited,
            Label: '',
            State: 'expired',
            CreatedAt: iso(began + 2),
            ExpiresAt: iso(began + 3),
          },
          { ...usual, KeyID: gone, Label: 'gone', State: 'revoked', CreatedAt: iso(began + 3) },
        ],
        NextCursor: null,
      }),
    )
    for (const { hash } of await store.apiKeys.list(customer.id))
      for (const form of ['hex', 'base64', 'latin1'] as const)
        expect(answer.payload).not.toContain(Buffer.from(hash).toString(form))
    expect(answer.payload).not.toContain('tsl_')
  })

  it('names the limit that holds: that of the key, or else that of the server', async () => {
    const { customer, token } = await readingSupplier(service)
    for (const rateLimit of [600, 0]) await issuing(customer.id)('', undefined, { rateLimit })
    const limited = await testAppBeside(service, { TESLIM_RATE_LIMIT: '60' })
    const answer = await limited.app.inject({ url: KEYS, headers: { authorization: `Bearer ${token}` } })
    expect(answer.json().data.Keys.map(({ RateLimit }: { RateLimit: number | null }) => RateLimit)).toEqual([
      60,
      600,
      null,
    ])
  })

  it('comes in pages, without gaps or repeats, also when keys are issued meanwhile', async () => {
    const { customer, get } = await readingSupplier(service)
    const issue = issuing(customer.id)
    const [first] = await store.apiKeys.list(customer.id)
    const ids = [first?.id]
    for (let i = 0; i < 6; i++) ids.push(await issue())
    const read = async (limit: number, between: () => Promise<unknown> = async () => undefined) => {
      const seen: string[] = []
      for (let cursor = ''; ; await between()) {
        const { Keys, NextCursor } = (await get(`${KEYS}?limit=${limit}&cursor=${cursor}`)).json().data
        seen.push(...Keys.map(({ KeyID }: { KeyID: string }) => KeyID))
        expect(Keys.length).toBeLessThanOrEqual(limit)
        if (NextCursor === null) return seen
        expect(Keys).toHaveLength(limit)
        cursor = NextCursor
      }
    }
    for (const limit of [1, 2, 3, 6, 7, 8, 100]) expect(await read(limit)).toEqual(ids)
    let more = 3
    const grown = await read(2, async () => {
      if (more-- > 0) ids.push(await issue())
    })
    expect(grown).toEqual(ids)
  })

  it('begins after a key of another customer, and shows nothing of it', async () => {
    const one = await readingSupplier(service)
    // Ids of one millisecond are in no order.
    service.clock.time++
    const two = await readingSupplier(service)
    const beyond = (await two.get(`${KEYS}?cursor=${one.keyId}`)).json().data.Keys
    expect(beyond.map(({ KeyID }: { KeyID: string }) => KeyID)).toEqual([two.keyId])
  })

  it('is empty for a customer without keys, and forgets labels, networks and uses of a removed one', async () => {
    const operator = await readingSupplier(service, { scope: 'operator' })
    const { id } = await addCustomer(service)
    expect((await operator.get(`${KEYS}?customer=${id}`)).json()).toEqual(ok({ Keys: [], NextCursor: null }))
    const keyId = await issuing(id)('private', undefined, { networks: ['203.0.113.7'] })
    await store.apiKeys.recordUses([{ keyId, usedAt: clock.now(), address: '203.0.113.7' }], clock.now())
    await service.customers.remove(id, false)
    const { Keys } = (await operator.get(`${KEYS}?customer=${id}`)).json().data
    expect(Keys).toMatchObject([{ KeyID: keyId, Label: '', State: 'revoked', LastUse: null, Networks: null }])
  })
})
