import { describe, expect } from 'vitest'
import { delivery } from '../../support/store/store-rows.ts'
import { deliverAll, type Open, promises } from './promises.ts'

export function describeHistories(name: string, open: Open): void {
  describe(`${name}: histories`, () => {
    const { withCustomers } = promises(open)

    withCustomers('one of ten thousand entries is walked through in pages', async (store, one, two) => {
      const sent = Array.from({ length: 10_000 }, (_, n) => delivery(one.id, { orderId: 'long', status: n % 4 }))
      await Promise.all(sent.map((each) => store.deliveries.deliver(each)))
      const receipts: string[] = []
      let from: number | undefined
      do {
        const page = await store.deliveries.history(one.id, 'long', { from, limit: 501 })
        receipts.push(...page.slice(0, 500).map(({ receiptId }) => receiptId))
        from = page[500]?.position
      } while (from !== undefined)
      expect(receipts).toEqual(sent.map(({ receiptId }) => receiptId).toReversed())
      expect(await store.deliveries.history(one.id, 'long')).toHaveLength(10_000)
      const start = (await store.deliveries.history(one.id, 'long', { limit: 1 }))[0]?.position
      await deliverAll(store, [delivery(one.id, { orderId: 'other' }), delivery(two.id, { orderId: 'long' })])
      expect(await store.deliveries.history(one.id, 'other', { from: start, limit: 5 })).toEqual([])
      expect(await store.deliveries.history(two.id, 'long', { from: start, limit: 5 })).toEqual([])
      expect(await store.deliveries.history('nobody', 'long', { limit: 5 })).toEqual([])
    })
  })
}
