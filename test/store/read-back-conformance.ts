import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Customer, Filter, NewDelivery, Order, OrderPlace, Store } from '#src/store/store.ts'
import { customer, delivery } from './store-conformance.ts'

const ALL = { most: 1000, look: 1000 }
const names = (orders: readonly Order[]) => orders.map(({ orderId }) => orderId)

/** All orders, page by page. */
async function walk({ deliveries }: Store, filter: Filter, most: number, look: number): Promise<Order[][]> {
  const pages: Order[][] = []
  for (let after: OrderPlace | null = null; ; ) {
    const { orders, next } = await deliveries.orders(after, filter, { most, look })
    pages.push(orders)
    if (next === null) return pages
    after = next
  }
}

/** What every adapter owes to whoever reads back. */
export function describeReading(name: string, open: () => Promise<Store>): void {
  const promise = (text: string, work: (store: Store, one: Customer, two: Customer) => Promise<void>): void =>
    it(text, async () => {
      const store = await open()
      try {
        const [one, two] = [customer(), customer()]
        await store.customers.insert(one)
        await store.customers.insert(two)
        await work(store, one, two)
      } finally {
        await store.close()
      }
    })
  const deliver = async ({ deliveries }: Store, all: readonly NewDelivery[]): Promise<void> => {
    for (const each of all) await deliveries.deliver(each)
  }

  describe(`${name}: orders`, () => {
    promise('each is what its last delivery made of it', async (store, one) => {
      const first = delivery(one.id, { orderId: 'a', status: 1 })
      const last = delivery(one.id, { orderId: 'a', status: 2, receivedAt: 77 })
      const echo = delivery(one.id, { orderId: 'a', status: 2, receivedAt: 99, payload: last.payload })
      await deliver(store, [first, last, echo, delivery(one.id, { orderId: null })])
      const { orders, next } = await store.deliveries.orders(null, { customerId: one.id }, ALL)
      const position = (await store.deliveries.findByReceipt(last.receiptId))?.position
      const { receiptId } = last
      const payloadBytes = last.payload.length
      expect(orders).toEqual([
        { customerId: one.id, orderId: 'a', status: 2, receiptId, receivedAt: 77, position, payloadBytes },
      ])
      expect(next).toBeNull()
    })

    promise(
      'they come by the bytes of their ids, a page at a time, those of a customer only',
      async (store, one, two) => {
        const ids = ['10', '9', 'A', 'a', 'b', 'ı', '漢', '\u{1f600}']
        for (const orderId of ids.toReversed()) {
          await deliver(store, [delivery(one.id, { orderId }), delivery(two.id, { orderId: `${orderId}'` })])
        }
        for (const most of [1, 3, 7, 8, 9]) {
          const pages = await walk(store, { customerId: one.id }, most, most)
          expect(pages.flatMap(names)).toEqual(ids)
          expect(pages.every((page) => page.length <= most)).toBe(true)
          expect(pages.at(-1)).not.toEqual([])
        }
      },
    )

    promise('all customers are walked through in turn', async (store, one, two) => {
      for (const orderId of ['b', 'a'])
        for (const { id } of [two, one]) await deliver(store, [delivery(id, { orderId })])
      const pages = await walk(store, {}, 3, 3)
      const ours = pages.flat().filter(({ customerId }) => [one.id, two.id].includes(customerId))
      expect(ours.map(({ customerId, orderId }) => [customerId, orderId])).toEqual([
        [one.id, 'a'],
        [one.id, 'b'],
        [two.id, 'a'],
        [two.id, 'b'],
      ])
    })

    promise('they are found by status and time among as many as are looked at', async (store, one) => {
      const all = Array.from({ length: 30 }, (_, n) =>
        delivery(one.id, { orderId: `o${String(n).padStart(2, '0')}`, status: n % 3, receivedAt: 1000 + n }),
      )
      await deliver(store, all)
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

    promise('the pages of any filter hold what a look at all of them finds', async (store, one, two) => {
      const ids = Array.from({ length: 12 }, (_, n) => `order-${String.fromCharCode(0x61 + n)}`)
      const all = [one, two].flatMap(({ id }) =>
        ids.map((orderId, n) => delivery(id, { orderId, status: (n * 7) % 4, receivedAt: 1000 + ((n * 5) % 12) })),
      )
      await deliver(store, all)
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
        { numRuns: 60 },
      )
    })

    promise('one is found by its id, with one customer or with all', async (store, one, two) => {
      const orderId = `named ${one.id}`
      await deliver(store, [delivery(one.id, { orderId }), delivery(two.id, { orderId }), delivery(two.id)])
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

  describe(`${name}: histories`, () => {
    promise('one of ten thousand entries is walked through in pages', async (store, one, two) => {
      const sent = Array.from({ length: 10_000 }, (_, n) => delivery(one.id, { orderId: 'long', status: n % 4 }))
      await Promise.all(sent.map((each) => store.deliveries.deliver(each)))
      const receipts: string[] = []
      let from: number | undefined
      do {
        const page = await store.deliveries.history(one.id, 'long', { from, most: 501 })
        receipts.push(...page.slice(0, 500).map(({ receiptId }) => receiptId))
        from = page[500]?.position
      } while (from !== undefined)
      expect(receipts).toEqual(sent.map(({ receiptId }) => receiptId).toReversed())
      expect(await store.deliveries.history(one.id, 'long')).toHaveLength(10_000)
      const start = (await store.deliveries.history(one.id, 'long', { most: 1 }))[0]?.position
      await deliver(store, [delivery(one.id, { orderId: 'other' }), delivery(two.id, { orderId: 'long' })])
      expect(await store.deliveries.history(one.id, 'other', { from: start, most: 5 })).toEqual([])
      expect(await store.deliveries.history(two.id, 'long', { from: start, most: 5 })).toEqual([])
      expect(await store.deliveries.history('nobody', 'long', { most: 5 })).toEqual([])
    })
  })

  describe(`${name}: deliveries after a position`, () => {
    promise('come in the order of commits, and each once', async (store, one, two) => {
      const start = (await store.deliveries.after(0, {}, { most: 1, look: 1e6 })).position
      const last = (await store.deliveries.after(start, {}, { most: 1e6, look: 1e6 })).position
      const sent = Array.from({ length: 20 }, (_, n) =>
        delivery(n % 4 === 3 ? two.id : one.id, { orderId: n % 2 ? null : 'o', status: n % 3, receivedAt: n }),
      )
      await deliver(store, sent)
      const follow = async (filter: Filter, most: number, look: number): Promise<string[]> => {
        const receipts: string[] = []
        for (let position = last; ; ) {
          const page = await store.deliveries.after(position, filter, { most, look })
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
      expect(await store.deliveries.after(1e15, {}, ALL)).toEqual({ deliveries: [], position: 1e15 })
    })
  })

  describe(`${name}: payloads`, () => {
    promise('come by position, to the byte, those that are there', async (store, one) => {
      const sent = [0, 1, 70_000].map((length) => delivery(one.id, { payload: Buffer.alloc(length, 0xff) }))
      await deliver(store, sent)
      const found = await Promise.all(sent.map(({ receiptId }) => store.deliveries.findByReceipt(receiptId)))
      const positions = found.map((each) => each?.position ?? 0)
      const payloads = await store.deliveries.payloads([...positions, 1e12])
      expect([...payloads.keys()].toSorted((a, b) => a - b)).toEqual(positions)
      for (const [index, position] of positions.entries()) {
        expect(Buffer.compare(payloads.get(position) ?? Buffer.from('none'), sent[index]?.payload as Buffer)).toBe(0)
      }
      expect(await store.deliveries.payloads([])).toEqual(new Map())
    })

    promise('are left out where they cannot hold a text', async (store, one) => {
      const texts = [
        '{"sku":"Aş-1"}',
        '{"sku":"\\u0041ş-1"}',
        '{"sku":"A%-1"}',
        '{"sku":"aş-1"}',
        '{"sku":"A\\/"}',
        'Aş-1',
      ]
      const sent = texts.map((text) => delivery(one.id, { payload: Buffer.from(text) }))
      await deliver(store, sent)
      const found = await Promise.all(sent.map(({ receiptId }) => store.deliveries.findByReceipt(receiptId)))
      const payloads = await store.deliveries.payloads(
        found.map((each) => each?.position ?? 0),
        'Aş-1',
      )
      const held = new Set(Array.from(payloads.values(), (payload) => Buffer.from(payload).toString()))
      expect(held).toEqual(new Set([texts[0], texts[1], texts[4], texts[5]]))
    })
  })

  describe(`${name}: secrets`, () => {
    promise('the first one of a name is kept, whoever comes at the same time', async ({ secrets }, one) => {
      const candidates = [1, 2, 3].map((byte) => Buffer.alloc(32, byte))
      const kept = await Promise.all(candidates.map((candidate) => secrets.findOrInsert(one.id, candidate)))
      expect(new Set(kept.map((value) => Buffer.from(value).toString('hex'))).size).toBe(1)
      expect(Buffer.from(await secrets.findOrInsert(one.id, Buffer.alloc(32, 9)))).toEqual(Buffer.from(kept[0] ?? []))
    })
  })
}
