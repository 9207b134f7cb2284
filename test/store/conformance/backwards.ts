import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { BLOCK_SIZE } from '#src/store/sql/purges.ts'
import type { Filter, NewDelivery, Store } from '#src/store/store.ts'
import { runs } from '../../support/random-runs.ts'
import { delivery } from '../../support/store/store-rows.ts'
import { deliverAll, type Open, promises } from './promises.ts'
import { nextTime, purge, receiptsOf, receivedAt } from './purging.ts'

const NEWEST = Number.MAX_SAFE_INTEGER

/** The receipts of all pages, newest first. */
async function walk({ deliveries }: Store, filter: Filter, most: number, scan: number): Promise<string[]> {
  const receipts: string[] = []
  for (let position = NEWEST; position > 0; ) {
    const page = await deliveries.before(position, filter, { limit: most, scan })
    expect(page.deliveries.length).toBeLessThanOrEqual(most)
    expect(page.position).toBeLessThan(position)
    receipts.push(...receiptsOf(page.deliveries))
    position = page.position
  }
  return receipts
}

const lastOf = async ({ deliveries }: Store): Promise<number> =>
  (await deliveries.before(NEWEST, {}, { limit: 1, scan: 1 })).deliveries[0]?.position ?? 0

export function describeBackwards(name: string, open: Open): void {
  describe(`${name}: deliveries before a position`, () => {
    const { withCustomers } = promises(open)

    /** Stores deliveries of somebody else until a new block begins `ahead` positions from now. */
    const fillBlock = async (store: Store, someone: string, ahead: number): Promise<void> => {
      const last = await lastOf(store)
      const missing = (((BLOCK_SIZE - ahead - last - 1) % BLOCK_SIZE) + BLOCK_SIZE) % BLOCK_SIZE
      const payload = Buffer.from('{}')
      for (let done = 0; done < missing; done += 1000) {
        const some = Array.from({ length: Math.min(1000, missing - done) }, () => delivery(someone, { payload }))
        await Promise.all(some.map((each) => store.deliveries.deliver(each)))
      }
    }

    withCustomers(
      'a customer finds its own in every block and after the last one, each once',
      async (store, one, two) => {
        const sent: NewDelivery[] = []
        const busy: NewDelivery[] = []
        const keyId = crypto.randomUUID()
        const from = (key: string) => ({ keyId: key, address: '192.0.2.1', requestId: 'r' })
        for (const ahead of [3, 5, 2]) {
          await fillBlock(store, two.id, ahead)
          const some = Array.from({ length: 8 }, (_, n) =>
            delivery(one.id, {
              orderId: n % 3 ? 'o' : null,
              status: n % 4,
              receivedAt: n,
              origin: from(n % 2 ? keyId : crypto.randomUUID()),
            }),
          )
          for (const each of some) {
            const other = delivery(two.id, { origin: from(keyId) })
            await deliverAll(store, [each, other])
            sent.unshift(each)
            busy.unshift(other)
          }
        }
        const wanted = (which: (each: NewDelivery) => boolean) => receiptsOf(sent.filter(which))
        const customerId = one.id
        for (const [most, look] of [
          [1, 1],
          [3, 3],
          [2, 700],
          [500, 1000],
        ] as const) {
          expect(await walk(store, { customerId }, most, look)).toEqual(wanted(() => true))
          expect(await walk(store, { customerId, status: 2 }, most, look)).toEqual(wanted(({ status }) => status === 2))
          const inTime = wanted(({ receivedAt }) => receivedAt >= 2 && receivedAt < 5)
          expect(await walk(store, { customerId, from: 2, to: 5 }, most, look)).toEqual(inTime)
          const withKey = wanted(({ origin }) => origin?.keyId === keyId)
          expect(await walk(store, { customerId, keyId }, most, look)).toEqual(withKey)
        }
        // Of the other customer are nearly all.
        for (const [most, look] of [
          [3, 700],
          [500, 3000],
        ] as const)
          expect(await walk(store, { customerId: two.id, keyId }, most, look)).toEqual(receiptsOf(busy))
        const all = await walk(store, { keyId }, 500, 3000)
        expect(all.filter((each) => receiptsOf(busy).includes(each))).toEqual(receiptsOf(busy))
        expect(await walk(store, { customerId, orderId: 'o' }, 500, 1000)).toEqual(
          wanted(({ orderId }) => orderId === 'o'),
        )
        expect(await walk(store, { customerId: 'nobody' }, 500, 1000)).toEqual([])
        expect((await walk(store, {}, 5000, 5000)).filter((each) => receiptsOf(sent).includes(each))).toEqual(
          receiptsOf(sent),
        )
      },
    )

    withCustomers('what was purged is left out, wherever it was', async (store, one, two) => {
      const start = nextTime()
      const old = Array.from({ length: 6 }, (_, n) => receivedAt(start + n, one.id, { orderId: n > 3 ? 'kept' : null }))
      await deliverAll(store, old)
      await fillBlock(store, two.id, 0)
      const young = Array.from({ length: 3 }, (_, n) => receivedAt(nextTime() + n, one.id, { orderId: null }))
      await deliverAll(store, young)
      await purge(store, start + 1000)
      const left = receiptsOf([...young.toReversed(), ...old.slice(5)])
      for (const most of [1, 2, 100]) expect(await walk(store, { customerId: one.id }, most, most)).toEqual(left)
    })

    withCustomers('echoes are listed alone, or left out', async (store, one) => {
      const payload = Buffer.from('{"a":1}')
      const sent = ['a', 'a', 'b', 'a', 'b', null, null].map((orderId) => delivery(one.id, { orderId, payload }))
      for (const each of sent) await deliverAll(store, [each])
      const echoes = [1, 3, 4]
      const wanted = (is: boolean) => receiptsOf(sent.filter((_, n) => echoes.includes(n) === is).toReversed())
      for (const customerId of [one.id, undefined])
        for (const duplicate of [true, false]) {
          // All deliveries are many: those of other tests, too.
          const [most, look] = customerId === undefined ? [1000, 10_000] : [2, 3]
          const found = await walk(store, { customerId, duplicate }, most, look)
          expect(found.filter((each) => receiptsOf(sent).includes(each))).toEqual(wanted(duplicate))
          const ahead = await store.deliveries.after(0, { customerId: one.id, duplicate }, { limit: 9, scan: 100_000 })
          expect(receiptsOf(ahead.deliveries).toReversed()).toEqual(wanted(duplicate))
        }
    })

    withCustomers('what made the state of an order at a position is found later', async (store, one, two) => {
      const steps = fc.array(
        fc.record({ order: fc.integer({ min: 0, max: 2 }), bytes: fc.integer({ min: 0, max: 1 }), mine: fc.boolean() }),
        { minLength: 1, maxLength: 12 },
      )
      let run = 0
      await fc.assert(
        fc.asyncProperty(steps, async (all) => {
          run++
          const positions: number[] = []
          const states: Map<string, number>[] = []
          let now = new Map<string, number>()
          const latest = new Map<string, number>()
          for (const { order, bytes, mine } of all) {
            const customerId = mine ? one.id : two.id
            const orderId = `${run}-${order}`
            const sent = delivery(customerId, { orderId, payload: Buffer.from(`{"a":${bytes}}`) })
            const { duplicate } = await store.deliveries.deliver(sent)
            const position = (await store.deliveries.findByReceipt(sent.receiptId))?.position ?? 0
            expect(duplicate).toBe(latest.get(customerId + orderId) === bytes)
            latest.set(customerId + orderId, bytes)
            now = new Map(now)
            if (!duplicate) now.set(customerId + orderId, position)
            positions.push(position)
            states.push(now)
          }
          for (const [index, at] of positions.entries()) {
            const asked = positions.slice(0, index + 1).toReversed()
            const made = [...(states[index]?.values() ?? [])].sort((first, second) => second - first)
            expect(await store.deliveries.statesAt(asked, at)).toEqual(made)
          }
        }),
        { numRuns: runs(15) },
      )
      expect(await store.deliveries.statesAt([], 1)).toEqual([])
    })

    withCustomers('an order with too many deliveries since then is not searched for its state', async (store, one) => {
      const first = delivery(one.id, { orderId: 'busy' })
      await deliverAll(store, [first])
      const at = await lastOf(store)
      const more = Array.from({ length: 10_001 }, () => delivery(one.id, { orderId: 'busy' }))
      await Promise.all(more.map((each) => store.deliveries.deliver(each)))
      expect(await store.deliveries.statesAt([at], at)).toBeUndefined()
      const next = (await store.deliveries.findByReceipt(more[5]?.receiptId ?? ''))?.position ?? 0
      expect(await store.deliveries.statesAt([at, next], next)).toEqual([next])
    })
  })
}
