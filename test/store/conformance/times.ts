import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { OPERATOR } from '#src/customer/find-customer.ts'
import { systemRandom } from '#src/lib/random.ts'
import { createCursors } from '#src/purchase/cursors.ts'
import { createDeliveryList } from '#src/purchase/deliveries/deliveries.rule.ts'
import { createDeliverySearch } from '#src/purchase/orders/delivery-search.ts'
import { createReadBack } from '#src/purchase/orders/orders.rule.ts'
import type { DeliverySummary, NewDelivery, Store } from '#src/store/store.ts'
import { runs } from '../../support/random-runs.ts'
import { deliverAll, type Open, promises } from './promises.ts'
import { all, nextTime, purge, receiptsOf, receivedAt } from './purging.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** How a clock goes on, or jumps. */
const jump = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 0, max: 20_000 }) },
  { weight: 2, arbitrary: fc.integer({ min: -2 * MINUTE, max: 10 * MINUTE }) },
  { weight: 1, arbitrary: fc.constantFrom(-HOUR, HOUR, -DAY, DAY, -40 * DAY, 40 * DAY, -6 * MINUTE) },
)
const order = fc.constantFrom('a', 'b', 'c', null)
const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('deliver' as const),
      batch: fc.array(fc.record({ jump, order }), { minLength: 1, maxLength: 4 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('purge' as const), which: fc.nat(30), orders: fc.boolean() }),
  },
)
const asked = fc.record({
  from: fc.option(fc.nat(30), { nil: undefined }),
  to: fc.option(fc.nat(30), { nil: undefined }),
  off: fc.constantFrom(-1, 0, 1, 4 * MINUTE, -HOUR),
  limit: fc.integer({ min: 1, max: 5 }),
})

export function describeTimes(name: string, open: Open): void {
  describe(`${name}: deliveries by the time of receipt`, () => {
    const { withCustomers } = promises(open)

    const readsOf = ({ deliveries, purges, customers, apiKeys, secrets }: Store) => {
      const more = {
        deliveries,
        purges,
        customers,
        apiKeys,
        cursors: createCursors(secrets, systemRandom),
        productsOf: () => [],
      }
      return { lists: createDeliveryList(more), orders: createReadBack(more), search: () => createDeliverySearch(more) }
    }

    const positionOf = async ({ deliveries }: Store, { receiptId }: NewDelivery): Promise<number> =>
      (await deliveries.findByReceipt(receiptId))?.position ?? 0

    withCustomers('a store whose clock was never put back looks at little more than the period', async (store, one) => {
      const start = nextTime(2000 * DAY)
      const sent = Array.from({ length: 8 }, (_, n) => receivedAt(start + n * 6 * MINUTE, one.id))
      await deliverAll(store, sent)
      const positions = await Promise.all(sent.map((each) => positionOf(store, each)))
      const within = (from?: number, to?: number) => store.deliveries.positionsWithin({ from, to })
      for (const [index, { receivedAt: at }] of sent.entries()) {
        expect(await within(at, at + 1)).toEqual({
          early: positions[index - 1] ?? expect.any(Number),
          end: positions[index + 1] ?? Number.MAX_SAFE_INTEGER,
        })
      }
      expect(await within()).toEqual({ early: 0, end: Number.MAX_SAFE_INTEGER })
      expect(await store.deliveries.lastPosition()).toBe(positions.at(-1))
      const [, , , , , sixth] = sent.map(({ receivedAt }) => receivedAt)
      expect(await store.deliveries.countFrom(sixth as number, 100)).toBe(3)
      expect(await store.deliveries.countFrom((sixth as number) + 1, 1)).toBe(1)
      expect(await store.purges.receivedBefore(sixth as number)).toBe(start + 4 * 6 * MINUTE)
      expect(await store.purges.receivedBefore(1)).toBeUndefined()
    })

    withCustomers('what came before a clock was put back by an hour is found by its time', async (store, one) => {
      const start = nextTime(2000 * DAY)
      const at = (minutes: number) => receivedAt(start + minutes * MINUTE, one.id)
      const [before, back, later] = [at(0), at(-60), at(-10)]
      await deliverAll(store, [before, back, later])
      const { search } = readsOf(store)
      const found = async (from: number, to?: number) => {
        const some = []
        for await (const { delivery } of search().find({ from, to, customer: one.id, withPayload: false }))
          some.push(delivery)
        return receiptsOf(some)
      }
      expect(await found(start - 3 * MINUTE)).toEqual(receiptsOf([before]))
      expect(await found(start - 20 * MINUTE)).toEqual(receiptsOf([before, later]))
      expect(await found(start - 60 * MINUTE, start - 50 * MINUTE)).toEqual(receiptsOf([back]))
      // Once the time before has come, what follows is found as quickly as ever.
      const ahead = [at(120), at(130)]
      await deliverAll(store, ahead)
      const { early } = await store.deliveries.positionsWithin({ from: start + 130 * MINUTE })
      expect(early).toBe(await positionOf(store, ahead[0] as NewDelivery))
    })

    withCustomers(
      'whatever a clock did, each period has exactly its deliveries, page after page',
      async (store, one) => {
        const { deliveries } = store
        const { lists, orders, search } = readsOf(store)
        await fc.assert(
          fc.asyncProperty(
            fc.array(step, { minLength: 1, maxLength: 25 }),
            fc.array(asked, { minLength: 1, maxLength: 6 }),
            async (steps, questions) => {
              const start = nextTime(2000 * DAY)
              const first = await deliveries.lastPosition()
              const times = [start]
              let time = start
              const timeAt = (index: number) => times[index % times.length] as number
              const there = async () => (await deliveries.after(first, {}, all)).deliveries
              for (const each of steps) {
                if (each.kind === 'deliver') {
                  const sent = each.batch.map(({ jump, order }) => {
                    time = Math.max(1, time + jump)
                    times.push(time)
                    return receivedAt(time, one.id, { orderId: order && `${order}-${start}` })
                  })
                  await Promise.all(sent.map((one) => deliveries.deliver(one)))
                  continue
                }
                const before = timeAt(each.which)
                const young = (await there()).filter(({ receivedAt }) => receivedAt >= before)
                await purge(store, before, { orders: each.orders })
                expect(await there()).toEqual(expect.arrayContaining(young))
              }
              const left = await there()
              for (const { from: early, to: late, off, limit } of questions) {
                const from = early === undefined ? undefined : timeAt(early) + off
                const to = late === undefined ? undefined : timeAt(late) + off
                const inTime = ({ receivedAt, position }: DeliverySummary | { receivedAt: number; position: number }) =>
                  position > first && receivedAt >= (from ?? 0) && receivedAt < (to ?? Number.POSITIVE_INFINITY)
                const wanted = receiptsOf(left.filter(inTime))
                const query = { customer: one.id, from, to }

                const found: DeliverySummary[] = []
                for await (const { delivery } of search().find({ ...query, withPayload: false })) found.push(delivery)
                expect(receiptsOf(found.filter(inTime))).toEqual(wanted)

                for (const customer of [one.id, undefined]) {
                  const listed: DeliverySummary[] = []
                  for (let cursor: string | undefined; ; ) {
                    const page = await lists.list('list', OPERATOR, { ...query, customer, cursor, limit })
                    listed.push(...page.deliveries)
                    if (page.nextCursor === null) break
                    cursor = page.nextCursor
                  }
                  expect(receiptsOf(listed.filter(inTime)).toReversed()).toEqual(wanted)
                }

                const listedBy = async (order: 'id' | 'newest') => {
                  const listed: { receiptId: string; receivedAt: number; position: number }[] = []
                  for (let cursor: string | undefined; ; ) {
                    const page = await orders.list(OPERATOR, { ...query, order, cursor, limit })
                    listed.push(...page.orders)
                    if (page.nextCursor === null) return listed.filter(inTime)
                    cursor = page.nextCursor
                  }
                }
                const [byId, newest] = [await listedBy('id'), await listedBy('newest')]
                expect(receiptsOf(newest)).toEqual(
                  receiptsOf(byId.toSorted((one, other) => other.position - one.position)),
                )
              }
              // Nothing stays forever.
              await purge(store, Math.max(...times) + 1, { orders: true })
              expect((await there()).length).toBeLessThanOrEqual(1)
            },
          ),
          { numRuns: runs(20) },
        )
      },
    )
  })
}
