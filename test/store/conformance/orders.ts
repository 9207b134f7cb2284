import fc from 'fast-check'
import { describe, expect } from 'vitest'
import type { Filter, Order, OrderPlace, Store } from '#src/store/store.ts'
import { runs } from '../../support/random-runs.ts'
import { delivery } from '../../support/store/store-rows.ts'
import { deliverAll, type Open, promises } from './promises.ts'

const ALL = { limit: 1000, scan: 1000 }
const names = (orders: readonly Order[]) => orders.map(({ orderId }) => orderId)

/** All orders, or those after a place, page by page. */
async function walk(
  { deliveries }: Store,
  filter: Filter,
  limit: number,
  scan: number,
  begin: OrderPlace | null = null,
): Promise<Order[][]> {
  const pages: Order[][] = []
  for (let after = begin; ; ) {
    const { orders, next } = await deliveries.orders(after, filter, { limit, scan })
    pages.push(orders)
    if (next === null) return pages
    after = next
  }
}

/** What every adapter owes to whoever reads back. */

export function describeOrders(name: string, open: Open): void {
  describe(`${name}: orders`, () => {
    const { withCustomers } = promises(open)

    withCustomers('each is what its last delivery made of it', async (store, one) => {
      const first = delivery(one.id, { orderId: 'a', status: 1 })
      const last = delivery(one.id, { orderId: 'a', status: 2, receivedAt: 77 })
      const echo = delivery(one.id, { orderId: 'a', status: 2, receivedAt: 99, payload: last.payload })
      await deliverAll(store, [first, last, echo, delivery(one.id, { orderId: null })])
      const { orders, next } = await store.deliveries.orders(null, { customerId: one.id }, ALL)
      const position = (await store.deliveries.findByReceipt(last.receiptId))?.position
      const { receiptId } = last
      const payloadBytes = last.payload.length
      expect(orders).toEqual([
        { customerId: one.id, orderId: 'a', status: 2, receiptId, receivedAt: 77, position, payloadBytes },
      ])
      expect(next).toBeNull()
    })

    withCustomers(
      'they come by the bytes of their ids, a page at a time, those of a customer only',
      async (store, one, two) => {
        const ids = ['10', '9', 'A', 'a', 'b', 'ı', '漢', '\u{1f600}']
        for (const orderId of ids.toReversed()) {
          await deliverAll(store, [delivery(one.id, { orderId }), delivery(two.id, { orderId: `${orderId}'` })])
        }
        for (const most of [1, 3, 7, 8, 9]) {
          const pages = await walk(store, { customerId: one.id }, most, most)
          expect(pages.flatMap(names)).toEqual(ids)
          expect(pages.every((page) => page.length <= most)).toBe(true)
          expect(pages.at(-1)).not.toEqual([])
        }
      },
    )

    withCustomers('they are found by the beginnings of their ids, customer by customer', async (store, one, two) => {
      const ids = ['KX', 'KX-1', 'KX-10', 'KX-\u{1f600}', 'kx-1', 'KY', 'K%']
      for (const orderId of ids) await deliverAll(store, [delivery(one.id, { orderId })])
      await deliverAll(store, [delivery(two.id, { orderId: 'KX-1' })])
      const found = async (filter: Filter, limit: number, scan: number) =>
        (await walk(store, filter, limit, scan)).map(names)
      const ofOne = (orderIdPrefix: string) => found({ customerId: one.id, orderIdPrefix }, 9, 9)
      expect(await ofOne('KX-')).toEqual([['KX-1', 'KX-10', 'KX-\u{1f600}']])
      expect(await ofOne('K%')).toEqual([['K%']])
      expect(await ofOne('x')).toEqual([[]])
      // What does not fit into the page of a customer is left out.
      expect((await found({ orderIdPrefix: 'KX-' }, 2, 100)).flat()).toEqual(['KX-1', 'KX-10', 'KX-1'])
      expect((await found({ orderIdPrefix: 'KX-' }, 9, 1)).flat()).toEqual(['KX-1', 'KX-10', 'KX-\u{1f600}', 'KX-1'])
    })

    withCustomers('all customers are walked through in turn', async (store, one, two) => {
      for (const orderId of ['b', 'a'])
        for (const { id } of [two, one]) await deliverAll(store, [delivery(id, { orderId })])
      // What other tests have stored lies before.
      const pages = await walk(store, {}, 3, 3, { customerId: one.id, orderId: '' })
      const ours = pages.flat().filter(({ customerId }) => [one.id, two.id].includes(customerId))
      expect(ours.map(({ customerId, orderId }) => [customerId, orderId])).toEqual([
        [one.id, 'a'],
        [one.id, 'b'],
        [two.id, 'a'],
        [two.id, 'b'],
      ])
    })

    withCustomers('they are found by status and time among as many as are looked at', async (store, one) => {
      const all = Array.from({ length: 30 }, (_, n) =>
        delivery(one.id, { orderId: `o${String(n).padStart(2, '0')}`, status: n % 3, receivedAt: 1000 + n }),
      )
      await deliverAll(store, all)
      const customerId = one.id
      const statusTwo = all.filter(({ status }) => status === 2).map(({ orderId }) => orderId)
      for (const [most, look] of [
        [2, 7],
        [100, 4],
        [1, 1],
        [100, 100],
      ] as const) {
        expect((await walk(store, { customerId, status: 2 }, most, look)).flatMap(names)).toEqual(statusTwo)
      }
      expect((await walk(store, { customerId, from: 1005, to: 1008 }, 9, 6)).map(names)).toEqual([
        ['o05'],
        ['o06', 'o07'],
        [],
        [],
        [],
      ])
      expect((await walk(store, { customerId, from: 1028 }, 9, 100)).flatMap(names)).toEqual(['o28', 'o29'])
      expect((await walk(store, { customerId, to: 1001 }, 9, 100)).flatMap(names)).toEqual(['o00'])
    })

    withCustomers('the pages of any filter hold what a look at all of them finds', async (store, one, two) => {
      const ids = Array.from({ length: 12 }, (_, n) => `order-${String.fromCharCode(0x61 + n)}`)
      const all = [one, two].flatMap(({ id }) =>
        ids.map((orderId, n) => delivery(id, { orderId, status: (n * 7) % 4, receivedAt: 1000 + ((n * 5) % 12) })),
      )
      await deliverAll(store, all)
      const ours = [one.id, two.id]
      const filters = fc.record(
        {
          customerId: fc.constantFrom(...ours),
          orderId: fc.constantFrom(...ids, 'of nobody'),
          status: fc.integer({ min: 0, max: 4 }),
          from: fc.integer({ min: 998, max: 1014 }),
          to: fc.integer({ min: 998, max: 1014 }),
        },
        { requiredKeys: [] },
      )
      const counts = fc.integer({ min: 1, max: 14 })
      await fc.assert(
        fc.asyncProperty(filters, counts, counts, async (filter, most, look) => {
          const { customerId, orderId, status, from = 0, to = Infinity } = filter
          const fitting = all.filter(
            (each) =>
              (customerId === undefined || each.customerId === customerId) &&
              (orderId === undefined || each.orderId === orderId) &&
              (status === undefined || each.status === status) &&
              each.receivedAt >= from &&
              each.receivedAt < to,
          )
          const pages = await walk(store, filter, most, customerId === undefined ? look + 100 : look)
          expect(pages.every((page) => page.length <= most)).toBe(true)
          const found = pages.flat().filter((order) => ours.includes(order.customerId))
          expect(found.map(({ receiptId }) => receiptId)).toEqual(fitting.map(({ receiptId }) => receiptId))
        }),
        { numRuns: runs(30) },
      )
    })

    withCustomers('one is found by its id, with one customer or with all', async (store, one, two) => {
      const orderId = `named ${one.id}`
      await deliverAll(store, [delivery(one.id, { orderId }), delivery(two.id, { orderId }), delivery(two.id)])
      const both = [one.id, two.id].map((customerId) => expect.objectContaining({ customerId, orderId }))
      expect((await walk(store, { orderId }, 1, 3)).flat()).toEqual(both)
      expect((await walk(store, { orderId }, 10, 1)).flat()).toEqual(both)
      expect(await walk(store, { orderId, customerId: two.id }, 10, 1)).toEqual([[both[1]]])
      expect(await walk(store, { orderId, customerId: two.id, status: 3 }, 10, 1)).toEqual([[]])
      expect(await walk(store, { orderId: 'another', customerId: two.id }, 10, 1)).toEqual([[]])
      expect(await walk(store, { orderId, customerId: 'nobody' }, 10, 1)).toEqual([[]])
      expect(await walk(store, { customerId: 'nobody' }, 10, 1)).toEqual([[]])
    })
  })
}
