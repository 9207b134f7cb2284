import { describe, expect } from 'vitest'
import { apiKey, delivery } from '../../support/store-rows.ts'
import { bytes, deliverAll, type Open, promises } from './promises.ts'

const all = { limit: 1e6, scan: 1e6 }

export function describeErasures(name: string, open: Open): void {
  describe(`${name}: erasures`, () => {
    const { withCustomers } = promises(open)

    withCustomers('a customer is erased: payloads, order ids and keys, but not receipts', async (store, one, two) => {
      const keyed = (id: string) => ({ orderId: 'secret', idempotency: { key: `secret-${id}`, notBefore: 0 } })
      const payload = Buffer.from(JSON.stringify({ Status: 2, text: 'large enough for a digest '.repeat(9) }))
      const lookalike = Buffer.from(JSON.stringify({ SHA256: 'abc', Status: 3, text: `${'secret '.repeat(20)}"}` }))
      const theirs = [
        delivery(one.id, keyed(one.id)),
        delivery(one.id, { orderId: 'secret', status: 2, payload }),
        delivery(one.id, { orderId: 'secret', status: 3, payload: Buffer.from(`{"SHA256":"abc","Text":"secret"}`) }),
        delivery(one.id, { orderId: null, status: 4, payload: lookalike }),
      ]
      const others = delivery(two.id, { orderId: 'secret' })
      await deliverAll(store, [...theirs, others])
      await store.customers.remove(one.id, { tokenGeneration: 'ended', now: 1, erase: true })
      let erased = 0
      for (let after: number | null = 0; after !== null; ) {
        const page = await store.purges.erase(one.id, after, 100)
        erased += page.deliveries
        after = page.position
      }
      while (await store.purges.eraseNames(one.id));
      expect(erased).toBe(theirs.length)
      expect(await store.purges.erase(one.id, 0, 1e6)).toMatchObject({ deliveries: 0 })
      for (let after: number | null = 0; after !== null; ) after = await store.purges.wipePages(after, 100)
      for (const { receiptId, receivedAt, status } of theirs) {
        const found = await store.deliveries.findByReceipt(receiptId)
        expect(found).toMatchObject({ receiptId, receivedAt, status, customerId: one.id, orderId: null, erased: true })
        expect(bytes(found?.payload).toString().trim()).toMatch(/^\{("SHA256":"[0-9a-f]{64}")?\}$/)
      }
      expect(await store.deliveries.history(one.id, 'secret')).toEqual([])
      expect((await store.deliveries.orders(null, { customerId: one.id }, all)).orders).toEqual([])
      expect((await store.deliveries.after(0, { customerId: one.id }, all)).deliveries).toMatchObject(
        theirs.map(() => ({ erased: true })),
      )
      expect(await store.deliveries.findByReceipt(others.receiptId)).toMatchObject({ erased: false, orderId: 'secret' })
      expect(await store.purges.wipeLog()).toBeUndefined()
    })

    withCustomers('a use of a key that is recorded late does not come back', async ({ apiKeys, customers }, one) => {
      const key = apiKey(one.id)
      await apiKeys.insert(key)
      await customers.remove(one.id, { tokenGeneration: 'ended', now: 1, erase: false })
      await apiKeys.recordUses([{ keyId: key.id, usedAt: 20, address: '192.0.2.1' }])
      expect(await apiKeys.list(one.id)).toMatchObject([{ id: key.id, lastUse: null }])
    })

    withCustomers('what an erased customer still delivers is refused, and only that', async (store, one, two) => {
      const idempotency = { key: 'late', notBefore: 0 }
      await deliverAll(store, [delivery(one.id), delivery(two.id)])
      await store.customers.remove(one.id, { tokenGeneration: 'ended', now: 1, erase: true })
      const late = [delivery(one.id), delivery(two.id), delivery(one.id, { idempotency }), delivery(two.id)]
      const outcomes = await Promise.allSettled(late.map((each) => store.deliveries.deliver(each)))
      const refused = { status: 'rejected', reason: { code: 'API_KEY_INVALID' } }
      const stored = { status: 'fulfilled', value: { duplicate: false } }
      expect(outcomes).toMatchObject([refused, stored, refused, stored])
      expect((await store.deliveries.after(0, { customerId: one.id }, all)).deliveries).toHaveLength(1)
    })
  })
}
