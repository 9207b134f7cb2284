import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createApiKeys } from '#src/customer/api-key.rule.ts'
import { systemRandom } from '#src/lib/random.ts'
import { addCustomer, testApp } from '../support/app/test-app.ts'

const HOUR = 3_600_000

describe('a key that is rotated', async () => {
  const service = await testApp({}, { withThreads: true })
  const { app, store, customers, clock } = service
  const { id } = await addCustomer(service, { authority: ['*'] })
  const apiKeys = createApiKeys({ store, customers, clock, random: systemRandom })
  const opens = async (key: string) => {
    // Accounts are kept for half a second.
    clock.time += 500
    const { statusCode } = await app.inject({
      method: 'POST',
      url: '/Purchase/update',
      headers: { ApiKey: key },
      payload: '{"Status":1}',
    })
    return statusCode === 200
  }

  it('works beside the new one until the overlap ends, and not after', async () => {
    const old = await apiKeys.issue(id, 'erp')
    expect(await opens(old.key)).toBe(true)
    const { key, view, replaced } = await apiKeys.rotate(old.view.id, { overlapMilliseconds: HOUR })
    expect(view).toMatchObject({ customerId: id, label: 'erp', expiresAt: null, state: 'live', successorId: null })
    expect(replaced).toMatchObject({ expiresAt: clock.now() + HOUR, state: 'live', successorId: view.id })
    clock.time += HOUR - 1000
    expect([await opens(old.key), await opens(key)]).toEqual([true, true])
    expect([await opens(old.key), await opens(key)]).toEqual([false, true])
  })

  it('ends at once with an overlap of 0', async () => {
    const old = await apiKeys.issue(id, '')
    expect(await opens(old.key)).toBe(true)
    const { key, replaced } = await apiKeys.rotate(old.view.id, { overlapMilliseconds: 0 })
    expect(replaced.state).toBe('expired')
    expect([await opens(old.key), await opens(key)]).toEqual([false, true])
  })

  it('by two at once has one successor, and the loser is told', async () => {
    const { view } = await apiKeys.issue(id, 'twice')
    const both = [1, 2, 3].map(() => apiKeys.rotate(view.id, { overlapMilliseconds: HOUR }))
    const outcomes = await Promise.allSettled(both)
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'API_KEY_ROTATED' })
    }
    expect((await apiKeys.list(id)).filter(({ label }) => label === 'twice')).toHaveLength(2)
  })

  it('must be live', async () => {
    const [revoked, expired] = [await apiKeys.issue(id, ''), await apiKeys.issue(id, '', 1)]
    await apiKeys.revoke(revoked.view.id)
    clock.time += 1
    const before = await apiKeys.list()
    for (const { view } of [revoked, expired]) {
      await expect(apiKeys.rotate(view.id, { overlapMilliseconds: 0 })).rejects.toMatchObject({ code: 'API_KEY_ENDED' })
    }
    const nothing = { code: 'API_KEY_NOT_FOUND' }
    await expect(apiKeys.rotate('none', { overlapMilliseconds: 0 })).rejects.toMatchObject(nothing)
    expect(await apiKeys.list()).toEqual(before)
  })

  it('never outlives its own expiry, and its successor gets the same lifetime, or the one given', async () => {
    const time = fc.integer({ min: 1, max: 400 * 24 * HOUR })
    const wanted = fc.record({
      lifetime: fc.option(time),
      passed: time,
      overlap: fc.nat(400 * 24 * HOUR),
      said: fc.option(time),
    })
    await fc.assert(
      fc.asyncProperty(wanted, async ({ lifetime, passed, overlap, said }) => {
        const { view: old } = await apiKeys.issue(id, 'any', lifetime ?? undefined)
        clock.time += lifetime === null ? passed : passed % lifetime
        const { view, replaced } = await apiKeys.rotate(old.id, {
          overlapMilliseconds: overlap,
          lifetimeMilliseconds: said ?? undefined,
        })
        const now = clock.now()
        expect(replaced.expiresAt).toBe(Math.min(old.expiresAt ?? Number.POSITIVE_INFINITY, now + overlap))
        const lives = said ?? lifetime
        expect(view.expiresAt).toBe(lives === null ? null : now + lives)
      }),
      { numRuns: 50 },
    )
  })

  it('is shown as expiring soon in its last 14 days', async () => {
    const DAY = 24 * HOUR
    const soon = async (lifetime?: number) => (await apiKeys.issue(id, '', lifetime)).view.expiresSoon
    expect([await soon(), await soon(14 * DAY + 1), await soon(14 * DAY), await soon(1), await soon(0)]).toEqual([
      false,
      false,
      true,
      true,
      false,
    ])
  })
})
