import { describe, expect } from 'vitest'
import type { ApiKey, ApiKeyChange, Store } from '#src/store/store.ts'
import { apiKey, auditEvent, customer, delivery } from '../../support/store/store-rows.ts'
import { bytes, changesAccountVersion, type Open, promises } from './promises.ts'

export function describeApiKeys(name: string, open: Open): void {
  describe(`${name}: API keys`, () => {
    const { promise, withCustomers } = promises(open)

    withCustomers('a key is found by its hash, with its customer', async ({ apiKeys }, one) => {
      const key = apiKey(one.id, { expiresAt: 99, networks: ['10.0.0.0/8', '2001:db8::1'], rateLimit: 0 })
      await apiKeys.insert(key)
      const found = await apiKeys.findByHash(key.hash)
      expect({ ...found?.key, hash: bytes(found?.key.hash) }).toEqual(key)
      expect(found?.customer).toEqual(one)
      expect(await apiKeys.findByHash(Buffer.alloc(32, 255))).toBeUndefined()
    })

    withCustomers('keys are listed by age, of one customer or all, with their last use', async ({ apiKeys }, one) => {
      const [first, second] = [apiKey(one.id), apiKey(one.id)]
      await apiKeys.insert(second)
      await apiKeys.insert(first)
      const use = { keyId: first.id, usedAt: 20, address: '::1' }
      await apiKeys.recordUses([use], 20)
      await apiKeys.recordUses([{ ...use, usedAt: 10, address: 'earlier' }], 20)
      const listed = await apiKeys.list(one.id)
      expect(listed.map(({ id, lastUse }) => [id, lastUse])).toEqual([
        [first.id, use],
        [second.id, null],
      ])
      const hour = { ...use, usedAt: 3_600_000 }
      await apiKeys.recordUses([hour], 3_600_000)
      await apiKeys.recordUses([{ ...use, usedAt: 30, address: 'an outage late' }], 3_540_000)
      expect((await apiKeys.findById(first.id))?.lastUse, 'nobody put a clock back').toEqual(hour)
      const back = { ...use, usedAt: 3_539_000, address: 'back' }
      await apiKeys.recordUses([back, { ...use, keyId: second.id }], 3_539_999)
      expect((await apiKeys.findById(first.id))?.lastUse, 'a clock was put back').toEqual(back)
      expect((await apiKeys.list()).map(({ id }) => id)).toEqual(expect.arrayContaining([first.id, second.id]))
      expect(await apiKeys.list('nobody')).toEqual([])
    })

    withCustomers('the keys of a customer come in pages, by age, with their last use', async (store, one, two) => {
      const { apiKeys } = store
      const keys = [apiKey(one.id), apiKey(one.id), apiKey(one.id)]
      for (const key of [...keys.toReversed(), apiKey(two.id)]) await apiKeys.insert(key)
      const [first, second, third] = keys.map(({ id }) => id)
      const use = { keyId: second ?? '', usedAt: 20, address: '::1' }
      await apiKeys.recordUses([use], 20)
      const page = async (afterId: string | undefined, limit: number, who = one.id) =>
        (await apiKeys.page(who, { afterId, limit })).map(({ id, lastUse }) => [id, lastUse])
      expect(await page(undefined, 2)).toEqual([
        [first, null],
        [second, use],
      ])
      expect(await page(second, 2)).toEqual([[third, null]])
      expect(await page(third, 2)).toEqual([])
      expect(await page(undefined, 2, 'nobody')).toEqual([])
      const [found] = await apiKeys.page(one.id, { limit: 1 })
      expect({ ...found, hash: bytes(found?.hash) }).toEqual({ ...keys[0], lastUse: null })
    })

    withCustomers('the first revocation stands', async ({ apiKeys }, one) => {
      const key = apiKey(one.id)
      await apiKeys.insert(key)
      expect(await apiKeys.revoke(key.id, 7)).toBe(true)
      expect(await apiKeys.revoke(key.id, 9)).toBe(true)
      expect((await apiKeys.findByHash(key.hash))?.key.revokedAt).toBe(7)
      expect(await apiKeys.revoke('none', 7)).toBe(false)
    })

    withCustomers('a key changes in what is given, and in nothing else', async ({ apiKeys }, one) => {
      const key = apiKey(one.id, { expiresAt: 99, networks: ['10.0.0.0/8'], rateLimit: 5 })
      await apiKeys.insert(key)
      const kept = async () => {
        const [found] = await apiKeys.list(one.id)
        const { lastUse: _, hash, ...rest } = found as NonNullable<typeof found>
        return { ...rest, hash: bytes(hash) }
      }
      let expected = key
      for (const change of [
        {},
        { label: 'new' },
        { expiresAt: null },
        { networks: null },
        { rateLimit: null },
        { label: '', expiresAt: 7, networks: ['10.0.0.1', '2001:db8::/32'], rateLimit: 0 },
        { rateLimit: undefined, networks: undefined, expiresAt: undefined, label: undefined },
      ] satisfies ApiKeyChange[]) {
        expect(await apiKeys.change(key.id, change)).toBe(true)
        const given = Object.entries(change).filter(([, value]) => value !== undefined)
        expected = { ...expected, ...Object.fromEntries(given) }
        expect(await kept()).toEqual(expected)
      }
      await apiKeys.revoke(key.id, 7)
      expect(await apiKeys.change(key.id, { label: 'late' })).toBe(false)
      expect(await kept()).toEqual({ ...expected, revokedAt: 7 })
      expect(await apiKeys.change('none', { label: 'x' })).toBe(false)
    })

    withCustomers('keys that are about to expire are counted, but not revoked or replaced ones', async (store, one) => {
      const { apiKeys } = store
      // Far from the times of the other tests on this store.
      const [from, to] = [9_000_000, 9_000_100]
      const add = async (expiresAt: number | null) => {
        const key = apiKey(one.id, { expiresAt })
        await apiKeys.insert(key)
        return key
      }
      for (const expiresAt of [from, from + 1, to, to + 1, null]) await add(expiresAt)
      expect(await apiKeys.countExpiring(from, to)).toBe(2)
      const [revoked, replaced] = [await add(to), await add(to)]
      await apiKeys.revoke(revoked.id, 1)
      expect(await apiKeys.countExpiring(from, to)).toBe(3)
      const successor = apiKey(one.id)
      await apiKeys.rotate(replaced.id, successor, { now: 0, endsAt: to })
      expect(await apiKeys.countExpiring(from, to)).toBe(2)
      await apiKeys.revoke(successor.id, 1)
      expect(await apiKeys.countExpiring(from, to)).toBe(3)
    })

    withCustomers(
      'an expiring key with a later one of its label, or of a disabled customer, is not counted',
      async (store, one, two) => {
        const { apiKeys } = store
        const [from, to] = [9_500_000, 9_500_100]
        const count = () => apiKeys.countExpiring(from, to)
        const add = async (more: Partial<ApiKey>, owner = one) => {
          const key = apiKey(owner.id, more)
          await apiKeys.insert(key)
          return key
        }
        const [old] = [await add({ label: 'web', createdAt: 1, expiresAt: to })]
        await add({ label: '', createdAt: 1, expiresAt: to })
        await add({ label: '', createdAt: 2 })
        await add({ label: 'web', createdAt: 2 }, two)
        await add({ label: 'web', createdAt: 0 })
        await add({ label: 'web', createdAt: 2, expiresAt: to })
        expect(await count()).toBe(3)
        const { id } = await add({ label: 'web', createdAt: 3, expiresAt: to + 1 })
        expect(await count()).toBe(1)
        await apiKeys.revoke(id, 1)
        await apiKeys.revoke(old.id, 1)
        expect(await count()).toBe(2)
        await store.customers.disable(one.id, { reason: 'asked', tokenGeneration: 'b' })
        expect(await count()).toBe(0)
      },
    )

    const expiryOf = async ({ apiKeys }: Store, { hash }: ApiKey) => (await apiKeys.findByHash(hash))?.key.expiresAt
    const times = { now: 10, endsAt: 50 }

    withCustomers('a rotated key ends, and its successor is there', async (store, one) => {
      const limits = { networks: ['2001:db8::/32'], rateLimit: 600 }
      const [old, successor] = [apiKey(one.id), apiKey(one.id, { expiresAt: 99, label: 'new', ...limits })]
      await store.apiKeys.insert(old)
      expect(await store.apiKeys.rotate(old.id, successor, times)).toBe(true)
      const listed = await store.apiKeys.list(one.id)
      expect(listed.map(({ lastUse: _, hash, ...key }) => ({ ...key, hash: bytes(hash) }))).toEqual([
        { ...old, expiresAt: 50, successorId: successor.id },
        successor,
      ])
      expect((await store.apiKeys.findByHash(successor.hash))?.customer).toEqual(one)
    })

    withCustomers('a rotated key never outlives its own expiry', async (store, one) => {
      const [early, late] = [apiKey(one.id, { expiresAt: 49 }), apiKey(one.id, { expiresAt: 51 })]
      for (const old of [early, late]) {
        await store.apiKeys.insert(old)
        expect(await store.apiKeys.rotate(old.id, apiKey(one.id), times)).toBe(true)
      }
      expect([await expiryOf(store, early), await expiryOf(store, late)]).toEqual([49, 50])
    })

    withCustomers('a key that is not live, or was rotated, is not rotated', async (store, one) => {
      const { apiKeys } = store
      const [expired, revoked, rotated] = [
        apiKey(one.id, { expiresAt: 10 }),
        apiKey(one.id, { revokedAt: 5 }),
        apiKey(one.id),
      ]
      for (const key of [expired, revoked, rotated]) await apiKeys.insert(key)
      expect(await apiKeys.rotate(rotated.id, apiKey(one.id), times)).toBe(true)
      for (const id of [expired.id, revoked.id, rotated.id, 'none']) {
        const successor = apiKey(one.id)
        expect(await apiKeys.rotate(id, successor, { now: 10, endsAt: 20 })).toBe(false)
        expect(await apiKeys.findByHash(successor.hash)).toBeUndefined()
      }
      expect(await expiryOf(store, rotated)).toBe(50)
    })

    withCustomers('of many rotations of a key at once one is done', async ({ apiKeys }, one) => {
      const old = apiKey(one.id)
      await apiKeys.insert(old)
      const successors = [1, 2, 3, 4].map(() => apiKey(one.id))
      const done = await Promise.all(successors.map((successor) => apiKeys.rotate(old.id, successor, times)))
      expect(done.filter(Boolean)).toHaveLength(1)
      const winner = successors[done.indexOf(true)]
      expect((await apiKeys.list(one.id)).map(({ id }) => id)).toEqual([old.id, winner?.id])
      expect((await apiKeys.findByHash(old.hash))?.key.successorId).toBe(winner?.id)
    })

    withCustomers('a rotation whose successor cannot be inserted changes nothing', async ({ apiKeys }, one) => {
      const old = apiKey(one.id)
      await apiKeys.insert(old)
      await expect(apiKeys.rotate(old.id, apiKey(one.id, { hash: old.hash }), times)).rejects.toThrow()
      const found = await apiKeys.findByHash(old.hash)
      expect({ ...found?.key, hash: bytes(found?.key.hash) }).toEqual(old)
    })

    withCustomers(
      'keys are found by the beginning of their ids, and nothing in it is a pattern',
      async ({ apiKeys }, one) => {
        const keys = ['x%-1', 'x%-2', 'x_-3'].map((id) => apiKey(one.id, { id }))
        for (const each of keys) await apiKeys.insert(each)
        const found = async (prefix: string, limit = 9) => (await apiKeys.withPrefix(prefix, limit)).map(({ id }) => id)
        expect(await found('x%')).toEqual(['x%-1', 'x%-2'])
        expect(await found('x', 2)).toEqual(['x%-1', 'x%-2'])
        expect(await found('x_-3')).toEqual(['x_-3'])
        expect(await found('x_-34')).toEqual([])
        expect(await found('X')).toEqual([])
      },
    )

    withCustomers(
      'keys are found by a part of their labels, step by step, and nothing in it is a pattern',
      async ({ apiKeys }, one) => {
        const labels = ['Erp %', 'erp_', 'shop', 'ERP', 'Şş']
        for (const [number, label] of labels.entries())
          await apiKeys.insert(apiKey(one.id, { id: `~${number}`, label }))
        const found = async (part: string, after = '~', limit = 9, scan = 9) => {
          const { keys, next } = await apiKeys.labelled(part, after, { limit, scan })
          return [keys.map(({ label }) => label), next]
        }
        expect(await found('erp')).toEqual([['Erp %', 'erp_', 'ERP'], null])
        expect(await found('erp', '~', 2)).toEqual([['Erp %', 'erp_'], '~1'])
        expect(await found('erp', '~1', 9, 1)).toEqual([[], '~2'])
        expect(await found('%')).toEqual([['Erp %'], null])
        expect(await found('_')).toEqual([['erp_'], null])
        expect(await found('ş')).toEqual([['Şş'], null])
      },
    )

    promise('a key of nobody is an error', async ({ apiKeys }) => {
      await expect(apiKeys.insert(apiKey('nobody'))).rejects.toThrow()
    })

    withCustomers(
      'the account version changes with every account change, with an erasure, and with nothing else',
      async (store, one) => {
        const key = apiKey(one.id)
        const changesVersion = (work: () => Promise<unknown>) => changesAccountVersion(store, work)
        expect(await changesVersion(() => store.apiKeys.insert(key))).toBe(true)
        const successor = apiKey(one.id)
        expect(await changesVersion(() => store.apiKeys.rotate(key.id, successor, { now: 0, endsAt: 9 }))).toBe(true)
        expect(await changesVersion(() => store.apiKeys.change(key.id, { rateLimit: 1 }))).toBe(true)
        expect(await changesVersion(() => store.apiKeys.revoke(key.id, 1))).toBe(true)
        expect(await changesVersion(() => store.audit.append([auditEvent()]))).toBe(false)
        expect(await changesVersion(() => store.customers.insert(customer()))).toBe(true)
        expect(await changesVersion(() => store.customers.setPassword(one.id, 'x', 'b'))).toBe(true)
        expect(
          await changesVersion(() => store.customers.disable(one.id, { reason: 'asked', tokenGeneration: 'b' })),
        ).toBe(true)
        expect(await changesVersion(() => store.customers.enable(one.id))).toBe(true)
        expect(await changesVersion(() => store.purges.announceErasure())).toBe(true)
        expect(await changesVersion(() => store.customers.revokeTokens(one.id, 'b'))).toBe(true)
        expect(await changesVersion(() => store.customers.addAuthority(one.id, ['x']))).toBe(true)
        expect(await changesVersion(() => store.customers.removeAuthority(one.id, ['x']))).toBe(true)
        const use = { keyId: key.id, usedAt: 1, address: '' }
        expect(await changesVersion(() => store.apiKeys.recordUses([use], 1))).toBe(false)
        expect(await changesVersion(() => store.deliveries.deliver(delivery(one.id)))).toBe(false)
      },
    )
  })
}
