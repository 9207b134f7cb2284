import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { systemRandom } from '#src/lib/random.ts'
import { createCursors } from '#src/purchase/cursors.ts'
import { createFeed } from '#src/purchase/feed/feed.rule.ts'
import { createFeedPlaces, type FeedPlace, openedPlace, sealedPlace } from '#src/purchase/feed-place.ts'
import { purgeDeliveries } from '#src/purchase/purge/purge.rule.ts'
import type { PurgeStore } from '#src/store/store.ts'
import { deliverAll, type Open, promises } from './promises.ts'
import { all, begin, nextTime, receivedAt } from './purging.ts'

const step = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('deliver' as const),
      orders: fc.array(fc.nat(5), { minLength: 1, maxLength: 12 }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('read' as const), who: fc.nat(4), most: fc.integer({ min: 1, max: 6 }) }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('begin' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('purge' as const),
      orders: fc.boolean(),
      /** Steps after which it is killed, more than it has for never. */
      steps: fc.integer({ min: 1, max: 25 }),
      /** Read meanwhile: followers, and how much they take at once. */
      reads: fc.array(fc.tuple(fc.nat(4), fc.integer({ min: 1, max: 6 })), { maxLength: 25 }),
    }),
  },
)

class Killed extends Error {}

interface Follower {
  /** Undefined before it has begun. */
  place: FeedPlace | undefined
  /** The generation of the purges when it began. */
  began: number
  /** The position of the last delivery that it was promised and got. What a purge was removing when it began is not promised. */
  got: number
}

export function describePurgeFollowers(name: string, open: Open): void {
  describe(`${name}: followers and purges that are killed`, () => {
    const { withCustomers } = promises(open)

    withCustomers(
      'a follower gets every delivery, or is told that some after its cursor are gone, and only then',
      async (store, one) => {
        const { deliveries, purges } = store
        const cursors = createCursors(store.secrets, systemRandom)
        const arrivals = { wait: () => ({ over: Promise.resolve(0), end: () => undefined }), close: () => undefined }
        const feed = createFeed(deliveries, createFeedPlaces({ deliveries, purges, cursors }), arrivals)
        /** Three deliveries at a time, so that there are many moments to be killed. */
        const slow: PurgeStore = { ...purges, page: (page) => purges.page({ ...page, scan: 3 }) }

        await fc.assert(
          fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 25 }), async (steps) => {
            const start = nextTime()
            const before = await deliveries.lastPosition()
            let time = start
            const stored = async () =>
              (await deliveries.after(before, {}, all)).deliveries.map(({ position }) => position)
            /** Every position there ever was, ascending. */
            const ever: number[] = []
            const highestRemoved = async (): Promise<number> => {
              const there = new Set(await stored())
              return ever.findLast((position) => !there.has(position)) ?? before
            }
            const followers: Follower[] = []
            const add = () => followers.push({ place: undefined, began: 0, got: 0 })
            const read = async (who: number, most: number): Promise<void> => {
              const follower = followers[who % followers.length] as Follower
              const query = { scope: null, after: follower.place, limit: most, withPayload: true }
              const place = follower.place?.position ?? 0
              const { generation, announced } = await purges.state()
              if (follower.place === undefined)
                Object.assign(follower, { began: generation, got: Math.max(before, announced) })
              try {
                const { items, place: next } = await feed.read(query)
                // It may have begun before or after the other purge did.
                if (follower.place === undefined && (await purges.state()).generation !== generation) return
                const positions = items.map(({ delivery }) => delivery.position)
                for (const position of positions.filter((each) => each > follower.got)) {
                  expect(position, 'no gap').toBe(ever.find((each) => each > follower.got))
                  follower.got = position
                }
                expect(next.position).toBeGreaterThanOrEqual(positions.at(-1) ?? place)
                follower.place = openedPlace(JSON.parse(JSON.stringify(sealedPlace(next))))
              } catch (error) {
                expect(error).toMatchObject({ code: 'CURSOR_PURGED' })
                expect(await highestRemoved(), 'something after the cursor is gone').toBeGreaterThan(place)
                const state = await purges.state()
                expect(state.generation, 'the purge during which it began does not refuse it').not.toBe(follower.began)
                follower.place = undefined
              }
            }
            add()
            for (const each of steps) {
              if (each.kind === 'deliver') {
                const sent = each.orders.map((order) =>
                  receivedAt(++time, one.id, { orderId: order === 0 ? null : `${order}-${start}` }),
                )
                await deliverAll(store, sent)
                const end = ever.at(-1) ?? before
                ever.push(...(await stored()).filter((position) => position > end))
              } else if (each.kind === 'read') await read(each.who, each.most)
              else if (each.kind === 'begin') add()
              else {
                let left = each.steps
                const reads = [...each.reads]
                const yielding = async <Result>(work: () => Promise<Result>): Promise<Result> => {
                  if (left-- === 0) throw new Killed()
                  const next = reads.pop()
                  const [result] = await Promise.all([work(), next && read(...next)])
                  return result
                }
                const options = { before: time + 1, orders: each.orders, unsent: false, now: time }
                await purgeDeliveries({ purges: slow, yielding }, options).catch((error: unknown) => {
                  if (!(error instanceof Killed)) throw error
                })
                const removed = await highestRemoved()
                if (removed > before) expect((await purges.state()).position).toBe(removed)
              }
            }
            // Whoever is at or after what was removed is never refused.
            const { position, generation } = await purges.state()
            for (const at of [position, await deliveries.lastPosition()])
              await feed.check({ position: at, generation: 0 }, null)
            if (position > 0)
              await expect(feed.check({ position: position - 1, generation: 0 }, null)).rejects.toMatchObject({
                code: 'CURSOR_PURGED',
              })
            await feed.check({ position: 0, generation }, null)
          }),
          { numRuns: 60 },
        )
      },
    )

    withCustomers('a purge that was killed before it removed anything refuses nobody', async (store, one) => {
      const start = await begin(store)
      await deliverAll(
        store,
        Array.from({ length: 9 }, (_, n) => receivedAt(start + n, one.id, { orderId: null })),
      )
      const { position, ...before } = await store.purges.state()
      await store.purges.announce(await store.deliveries.lastPosition())
      expect(await store.purges.state()).toEqual({
        generation: before.generation + 1,
        position,
        announced: await store.deliveries.lastPosition(),
        lost: null,
      })
    })
  })
}
