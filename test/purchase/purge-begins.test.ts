import { describe, expect, it } from 'vitest'
import { systemRandom } from '#src/lib/random.ts'
import { createCursors } from '#src/purchase/cursors.ts'
import { createFeed } from '#src/purchase/feed/feed.rule.ts'
import { createFeedPlaces } from '#src/purchase/feed-place.ts'
import { createDeliverySearch, type FoundDelivery } from '#src/purchase/orders/delivery-search.ts'
import type { DeliveryStore } from '#src/store/store.ts'
import { deliverAll } from '../store/conformance/promises.ts'
import { nextTime, purge, receiptsOf, receivedAt } from '../store/conformance/purging.ts'
import { customer } from '../support/store/store-rows.ts'
import { storesOfRun } from '../support/store/stores.ts'
import { openTestStore } from '../support/store/test-store.ts'

describe.each(storesOfRun())('a purge that begins while deliveries are read, on %s', async (_kind, emptyStore) => {
  const store = await openTestStore((await emptyStore()).DATABASE_URL)
  const { purges, customers } = store
  const cursors = createCursors(store.secrets, systemRandom)
  const one = customer()
  await customers.insert(one)

  /** Stores deliveries of an order. Returns those that a purge leaves, and a store that runs it just before a method is called. */
  const stored = async (method: 'after' | 'payloads') => {
    const start = nextTime()
    const sent = [0, 1, 2, 50, 51].map((at) =>
      receivedAt(start + at, one.id, { orderId: `o-${start}`, status: at % 4 }),
    )
    await deliverAll(store, sent)
    let begun: Promise<unknown> | undefined
    const deliveries: DeliveryStore = {
      ...store.deliveries,
      [method]: async (...args: Parameters<DeliveryStore[typeof method]>) => {
        begun ??= purge(store, start + 10)
        await begun
        return (store.deliveries[method] as (...args: unknown[]) => unknown)(...args)
      },
    }
    return { deliveries, orderId: `o-${start}`, left: receiptsOf(sent.slice(3)) }
  }

  it.each(['after', 'payloads'] as const)('begins a follower again that has no cursor (%s)', async (method) => {
    const { deliveries, left } = await stored(method)
    const arrivals = { wait: () => ({ over: Promise.resolve(0), end: () => undefined }), close: () => undefined }
    const feed = createFeed(deliveries, createFeedPlaces({ deliveries, purges, cursors }), arrivals)
    const { items } = await feed.read({ scope: one.id, after: undefined, limit: 100, withPayload: true })
    expect(items.slice(-2)).toMatchObject(left.map((receiptId) => ({ delivery: { receiptId } })))
  })

  const search = (deliveries: DeliveryStore) =>
    createDeliverySearch({ deliveries, purges, customers, cursors, productsOf: () => [] })

  it('ends an export instead of leaving payloads out', async () => {
    const { deliveries } = await stored('payloads')
    const found: FoundDelivery[] = []
    const read = async () => {
      for await (const each of search(deliveries).find({ withPayload: true })) found.push(each)
    }
    await expect(read()).rejects.toMatchObject({ code: 'CURSOR_PURGED' })
    expect(found.filter(({ payload }) => payload === undefined)).toEqual([])
  })

  it('leaves what it removes out of the export of an order', async () => {
    const { deliveries, orderId, left } = await stored('payloads')
    const found: FoundDelivery[] = []
    const query = { customer: one.id, orderId, withPayload: true }
    for await (const each of search(deliveries).find(query)) found.push(each)
    expect(receiptsOf(found.map(({ delivery }) => delivery))).toEqual(left)
  })
})
