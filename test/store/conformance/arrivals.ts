import { describe, expect } from 'vitest'
import type { Store } from '#src/store/store.ts'
import { customer, delivery } from '../../support/store/store-rows.ts'
import { type Open, promises } from './promises.ts'

export function describeArrivals(name: string, open: Open): void {
  describe(`${name}: arrivals`, () => {
    const { promise } = promises(open)

    const lastPosition = async ({ deliveries }: Store): Promise<number> => {
      for (let position = 0; ; ) {
        const next = await deliveries.arrivals(position)
        position = next.position
        if (!next.more) return position
      }
    }

    const positionsAfter = async ({ deliveries }: Store, start: number): Promise<number[]> =>
      (await deliveries.after(start, {}, { limit: 2000, scan: 2000 })).deliveries.map(({ position }) => position)

    promise('who got deliveries after a position is told, each once', async (store) => {
      const [one, other] = [customer(), customer()]
      for (const each of [one, other]) await store.customers.insert(each)
      // What was not stored in tests before may have left positions out.
      await store.deliveries.deliver(delivery(one.id))
      const start = await lastPosition(store)
      expect(await store.deliveries.arrivals(start)).toEqual({
        position: start,
        customerIds: [],
        more: false,
        lost: false,
      })
      for (const { id } of [one, other, one]) await store.deliveries.deliver(delivery(id))
      const [first, , third] = await positionsAfter(store, start)
      const all = await store.deliveries.arrivals(start)
      expect({ ...all, customerIds: all.customerIds.toSorted() }).toEqual({
        position: third,
        customerIds: [one.id, other.id].sort(),
        more: false,
        lost: false,
      })
      expect(await store.deliveries.arrivals(Number(third) - 1)).toMatchObject({ customerIds: [one.id] })
      expect(await store.deliveries.countAfter(start)).toBe(3)
      expect(await store.deliveries.countAfter(Number(first))).toBe(2)
      expect(await store.deliveries.countAfter(Number(third))).toBe(0)
    })

    promise('more than fit into one answer are said to be more', async (store) => {
      const one = customer()
      await store.customers.insert(one)
      const start = await lastPosition(store)
      await Promise.all(Array.from({ length: 1001 }, () => store.deliveries.deliver(delivery(one.id))))
      const first = await store.deliveries.arrivals(start)
      const positions = await positionsAfter(store, start)
      expect(first).toEqual({ position: positions[999], customerIds: [one.id], more: true, lost: false })
      expect(await store.deliveries.arrivals(first.position)).toMatchObject({ position: positions[1000], more: false })
    })

    promise('a commit is told to who watches, and no longer to who has stopped', async (store) => {
      const one = customer()
      await store.customers.insert(one)
      let told = Promise.withResolvers<void>()
      let tooOften = 0
      store.deliveries.watch(() => tooOften++)()
      const stop = store.deliveries.watch(() => told.resolve())
      for (let number = 0; number < 3; number++) {
        await store.deliveries.deliver(delivery(one.id))
        await told.promise
        told = Promise.withResolvers()
      }
      stop()
      expect(tooOften).toBe(0)
    })
  })
}
