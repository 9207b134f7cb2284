import { describe, expect } from 'vitest'
import type { NewDelivery } from '#src/store/store.ts'
import { deliverAll, type Open, promises } from './promises.ts'
import { all, begin, purge, receiptsOf, receivedAt } from './purging.ts'

export function describePurges(name: string, open: Open): void {
  describe(`${name}: purges`, () => {
    const { withCustomers } = promises(open)

    withCustomers('the last delivery of an order stays, and the one that made its state', async (store, one) => {
      const start = await begin(store)
      const of = (orderId: string | null, status: number, at: number, more: Partial<NewDelivery> = {}) =>
        receivedAt(start + at, one.id, { orderId, status, ...more })
      const [first, second] = [of('old', 1, 1), of('old', 2, 2)]
      const made = of('echoed', 3, 3)
      const echo = of('echoed', 3, 4, { payload: made.payload })
      const later = of('echoed', 3, 50, { payload: made.payload })
      const none = of(null, 1, 5)
      const [before, after] = [of('kept', 1, 6), of('kept', 2, 60)]
      await deliverAll(store, [first, second, made, echo, none, before, after, later])
      const bytesOf = (...some: NewDelivery[]) => some.reduce((sum, { payload }) => sum + payload.length, 0)
      const gone = { deliveries: 4, orders: 0, payloadBytes: bytesOf(first, echo, none, before), webhooks: [] }
      expect(await purge(store, start + 10, { dryRun: true })).toEqual(gone)
      expect(await store.deliveries.findByReceipt(first.receiptId)).toBeDefined()
      expect(await purge(store, start + 10)).toEqual(gone)
      expect(await purge(store, start + 10)).toEqual({ deliveries: 0, orders: 0, payloadBytes: 0, webhooks: [] })
      const { deliveries } = store
      for (const each of [first, echo, none, before]) {
        expect(await deliveries.findByReceipt(each.receiptId)).toBeUndefined()
      }
      expect(receiptsOf(await deliveries.history(one.id, 'old'))).toEqual([second.receiptId])
      expect(receiptsOf(await deliveries.history(one.id, 'echoed'))).toEqual([later.receiptId, made.receiptId])
      expect(await deliveries.history(one.id, 'echoed', { limit: 1 })).toHaveLength(1)
      expect(receiptsOf(await deliveries.history(one.id, 'kept'))).toEqual([after.receiptId])
      const { orders } = await deliveries.orders(null, { customerId: one.id }, all)
      expect(orders.map(({ orderId, status }) => [orderId, status])).toEqual([
        ['echoed', 3],
        ['kept', 2],
        ['old', 2],
      ])
      const again = of('echoed', 3, 70, { payload: made.payload })
      expect(await deliveries.deliver(again)).toMatchObject({ receiptId: made.receiptId, duplicate: true })
    })

    withCustomers('an old delivery goes once its order has a later one', async (store, one) => {
      const start = await begin(store)
      const old = receivedAt(start, one.id, { orderId: 'o' })
      await deliverAll(store, [old])
      expect(await purge(store, start + 10)).toMatchObject({ deliveries: 0 })
      await deliverAll(store, [receivedAt(start + 20, one.id, { orderId: 'o', status: 2 })])
      expect(await purge(store, start + 10)).toMatchObject({ deliveries: 1 })
      expect(await store.deliveries.findByReceipt(old.receiptId)).toBeUndefined()
    })

    withCustomers('a page has at most 4 MiB of payloads, or one delivery', async (store, one) => {
      const start = await begin(store)
      const MEBIBYTE = 1024 * 1024
      const positions: number[] = []
      for (const size of [1, 2, 2, 6, 1]) {
        const large = receivedAt(start + 1, one.id, { orderId: null, payload: Buffer.alloc(size * MEBIBYTE) })
        await deliverAll(store, [large])
        positions.push(await store.deliveries.lastPosition())
      }
      const page = { before: start + 10, orders: false, unsent: false, now: start, scan: 500, dryRun: true } as const
      const pages: [bytes: number, position: number | null][] = []
      for (let after: number | null = (positions[0] as number) - 1; after !== null; ) {
        const found = await store.purges.page({ ...page, after, until: positions.at(-1) as number })
        pages.push([found.payloadBytes / MEBIBYTE, found.position])
        after = found.position
      }
      expect(pages.reduce((sum, [size]) => sum + size, 0)).toBe(12)
      expect(pages.filter(([size]) => size > 4)).toEqual([[6, positions[3]]])
      expect(pages.length).toBeLessThanOrEqual(positions.length + 1)
    })

    withCustomers('orders go whole where that is wanted, and begin anew', async (store, one, two) => {
      const start = await begin(store)
      const first = receivedAt(start, one.id, { orderId: 'a' })
      const echo = receivedAt(start + 1, one.id, { orderId: 'a', payload: first.payload })
      const other = receivedAt(start + 2, two.id, { orderId: 'a' })
      const young = receivedAt(start + 20, two.id, { orderId: 'b' })
      await deliverAll(store, [first, echo, other, young])
      // With the one that `begin` left.
      const gone = { deliveries: 4, orders: 3 }
      expect(await purge(store, start + 10, { orders: true, dryRun: true })).toMatchObject(gone)
      expect(await purge(store, start + 10, { orders: true })).toMatchObject(gone)
      expect(await store.deliveries.orderState(one.id, 'a')).toBeUndefined()
      expect((await store.deliveries.orders(null, { customerId: one.id }, all)).orders).toEqual([])
      expect((await store.deliveries.orders(null, { customerId: two.id }, all)).orders).toMatchObject([
        { orderId: 'b' },
      ])
      const anew = receivedAt(start + 30, one.id, { orderId: 'a', payload: first.payload })
      expect(await store.deliveries.deliver(anew)).toMatchObject({ receiptId: anew.receiptId, duplicate: false })
      expect(await store.deliveries.history(one.id, 'a')).toHaveLength(1)
    })

    withCustomers('an idempotency key whose delivery was removed counts as new', async (store, one) => {
      const start = await begin(store)
      const under = (at: number, payload: string) =>
        receivedAt(start + at, one.id, {
          orderId: null,
          payload: Buffer.from(payload),
          idempotency: { key: `k-${start}`, notBefore: 0 },
        })
      await deliverAll(store, [under(0, '{"Status":1}'), receivedAt(start + 1, one.id)])
      expect(await purge(store, start + 1)).toMatchObject({ deliveries: 1 })
      const other = under(2, '{"Status":2}')
      expect(await store.deliveries.deliver(other)).toMatchObject({ receiptId: other.receiptId, duplicate: false })
      expect(await store.deliveries.deliver(under(3, '{"Status":2}'))).toMatchObject({ receiptId: other.receiptId })
    })

    withCustomers('a repeated delivery with a key keeps its own place, whatever was removed', async (store, one) => {
      const start = await begin(store)
      const of = (at: number, status: number, more: Partial<NewDelivery> = {}) =>
        receivedAt(start + at, one.id, { orderId: 'k', status, payload: Buffer.from(`{"Status":${status}}`), ...more })
      const idempotency = { key: `echo-${start}`, notBefore: 0 }
      const [first, echo, later] = [of(0, 1), of(20, 1, { idempotency }), of(21, 2)]
      await deliverAll(store, [first, echo, later])
      expect(await store.deliveries.deliver(of(22, 1, { idempotency }))).toMatchObject({ receiptId: first.receiptId })
      expect(await purge(store, start + 10)).toMatchObject({ deliveries: 1 })
      const again = await store.deliveries.deliver(of(23, 1, { idempotency }))
      expect(again).toMatchObject({ receiptId: echo.receiptId, receivedAt: echo.receivedAt, duplicate: true })
      expect(await store.deliveries.orderState(one.id, 'k')).toMatchObject({ status: 2 })
    })

    withCustomers('a purge removes nothing after the position that it announced', async (store, one) => {
      const start = await begin(store)
      const young = receivedAt(start + 20, one.id, { orderId: 'young' })
      const first = receivedAt(start, one.id, { orderId: 'late' })
      const late = receivedAt(start + 1, one.id, { orderId: 'late', payload: first.payload })
      await deliverAll(store, [first, young, late])
      // The one that `begin` left.
      const gone = { deliveries: 1, orders: 1 }
      expect(await purge(store, start + 10, { orders: true, dryRun: true })).toMatchObject(gone)
      expect(await purge(store, start + 10, { orders: true })).toMatchObject(gone)
      for (const { receiptId } of [first, late]) expect(await store.deliveries.findByReceipt(receiptId)).toBeDefined()
    })

    withCustomers('a clock that was ahead once stops no later purge', async (store) => {
      const { purges } = store
      const start = await begin(store)
      const years = 1e11
      const claim = (now: number) => purges.claim({ now, until: now + 60, due: now - 10 })
      expect(await claim(start + years)).toBe(true)
      expect(await claim(start)).toBe(true)
      await purges.finish(start + years, [])
      expect(await claim(start)).toBe(true)
      await purges.finish(start, [])
      expect([await claim(start + 5), await claim(start + 11)]).toEqual([false, true])
      await purges.finish(start, [])
    })

    withCustomers('a purge is announced before it removes anything, and only if it does', async (store, one) => {
      const start = await begin(store)
      const [first, last] = [0, 1].map((at) => receivedAt(start + at, one.id, { orderId: 'p', status: at }))
      await deliverAll(store, [first, last, receivedAt(start + 9, one.id)] as NewDelivery[])
      const before = await store.purges.state()
      await purge(store, start)
      expect(await store.purges.state()).toEqual(before)
      const position = (await store.deliveries.findByReceipt(first?.receiptId ?? ''))?.position
      await purge(store, start + 5)
      const { announced, ...state } = await store.purges.state()
      expect(state).toEqual({ generation: before.generation + 1, position, lost: null })
      const [middle] = (await store.deliveries.after(Number(position), {}, { limit: 1, scan: 1 })).deliveries
      expect(announced).toBe(Number(middle?.position))
      expect(await store.purges.receivedAfter(position ?? 0)).toBe(start + 1)
      expect(await store.purges.receivedAfter(1e15)).toBeUndefined()
    })

    withCustomers('one process at a time purges by itself, and not again what is done', async (store) => {
      const { purges } = store
      const start = await begin(store)
      const claim = (now: number, due: number) => purges.claim({ now, until: now + 60, due })
      expect([await claim(start, start), await claim(start + 1, start)]).toEqual([true, false])
      expect(await purges.renew(start + 60, start + 90)).toBe(true)
      expect(await purges.renew(start + 60, start + 95)).toBe(false)
      expect([await claim(start + 80, start), await claim(start + 91, start)]).toEqual([false, true])
      await purges.finish(start, [])
      expect([await claim(start + 92, start), await claim(start + 92, start + 1)]).toEqual([false, true])
    })
  })
}
