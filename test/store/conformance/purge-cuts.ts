import { describe, expect } from 'vitest'
import { deliverAll, type Open, promises } from './promises.ts'
import { begin, purge, receivedAt } from './purging.ts'

export function describePurgeCuts(name: string, open: Open): void {
  describe(`${name}: where a purge ends`, () => {
    const { withCustomers } = promises(open)

    withCustomers('deliveries from the future stop no purge, and stay', async (store, { id }) => {
      const start = await begin(store)
      const at = (time: number) => receivedAt(start + time, id, { orderId: null })
      const future = [1e11, 2e11].map(at)
      const old = [1, 2, 3, 4].map(at)
      await deliverAll(store, [...future, ...old, at(20), at(21)])
      expect(await purge(store, start + 10)).toMatchObject({ deliveries: old.length })
      for (const { receiptId } of future) expect(await store.deliveries.findByReceipt(receiptId)).toBeDefined()
      expect(await purge(store, start + 3e11)).toMatchObject({ deliveries: 3 })
    })

    withCustomers('a delivery stays that a clock put into the past', async (store, { id }) => {
      const start = await begin(store)
      const at = (time: number) => receivedAt(start + time, id, { orderId: null })
      const late = at(1)
      await deliverAll(store, [at(2), at(3), at(20), at(21), at(22), late, at(23)])
      expect(await purge(store, start + 10)).toMatchObject({ deliveries: 2 })
      expect(await store.deliveries.findByReceipt(late.receiptId)).toBeDefined()
    })

    withCustomers('the last delivery stays, so no version gives its position to another', async (store, { id }) => {
      const start = await begin(store)
      const [last, next] = [receivedAt(start, id), receivedAt(start + 1, id)]
      await deliverAll(store, [last])
      await purge(store, start + 1, { orders: true })
      const { position = 0 } = (await store.deliveries.findByReceipt(last.receiptId)) ?? {}
      expect(position).toBeGreaterThan(0)
      await deliverAll(store, [next])
      expect((await store.deliveries.findByReceipt(next.receiptId))?.position).toBeGreaterThan(position)
      expect(await purge(store, start + 1, { orders: true })).toMatchObject({ deliveries: 1, orders: 1 })
    })
  })
}
