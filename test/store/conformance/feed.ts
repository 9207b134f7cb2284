import { describe, expect } from 'vitest'
import type { Filter, NewDelivery } from '#src/store/store.ts'
import { delivery } from '../../support/store/store-rows.ts'
import { deliverAll, type Open, promises } from './promises.ts'

export function describeFeed(name: string, open: Open): void {
  describe(`${name}: deliveries after a position`, () => {
    const { withCustomers } = promises(open)

    withCustomers('come in the order of commits, and each once', async (store, one, two) => {
      const start = (await store.deliveries.after(0, {}, { limit: 1, scan: 1e6 })).position
      const last = (await store.deliveries.after(start, {}, { limit: 1e6, scan: 1e6 })).position
      const sent = Array.from({ length: 20 }, (_, n) =>
        delivery(n % 4 === 3 ? two.id : one.id, { orderId: n % 2 ? null : 'o', status: n % 3, receivedAt: n }),
      )
      await deliverAll(store, sent)
      const follow = async (filter: Filter, most: number, scan: number): Promise<string[]> => {
        const receipts: string[] = []
        for (let position = last; ; ) {
          const page = await store.deliveries.after(position, filter, { limit: most, scan })
          expect(page.deliveries.length).toBeLessThanOrEqual(most)
          receipts.push(...page.deliveries.map(({ receiptId }) => receiptId))
          if (page.position === position) return receipts
          position = page.position
        }
      }
      const wanted = (which: (each: NewDelivery) => boolean): string[] =>
        sent.filter(which).map(({ receiptId }) => receiptId)
      for (const [most, look] of [
        [3, 3],
        [1, 5],
        [50, 2],
        [50, 50],
      ] as const) {
        expect(await follow({}, most, look)).toEqual(wanted(() => true))
        expect(await follow({ customerId: two.id }, most, look)).toEqual(wanted((each) => each.customerId === two.id))
        expect(await follow({ orderId: 'o' }, most, look)).toEqual(wanted((each) => each.orderId === 'o'))
        expect(await follow({ status: 2 }, most, look)).toEqual(wanted((each) => each.status === 2))
        const inTime = wanted(({ receivedAt }) => receivedAt >= 5 && receivedAt < 9)
        expect(await follow({ from: 5, to: 9 }, most, look)).toEqual(inTime)
      }
      expect(await follow({ customerId: 'nobody' }, 5, 5)).toEqual([])
      expect(await store.deliveries.after(1e15, {}, { limit: 1000, scan: 1000 })).toEqual({
        deliveries: [],
        position: 1e15,
      })
    })
  })
}
