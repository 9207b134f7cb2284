import fc from 'fast-check'
import { describe, expect } from 'vitest'
import { purgeDeliveries } from '#src/purchase/purge/purge.rule.ts'
import type { Customer, NewDelivery, Store } from '#src/store/store.ts'
import { delivery, nextNumber } from '../../support/store-rows.ts'
import { deliverAll, type Open, promises } from './promises.ts'

/** A delivery whose receipt was made when it was received, as the service makes them. */
const receivedAt = (time: number, customerId: string, more: Partial<NewDelivery> = {}): NewDelivery => {
  const hex = time.toString(16).padStart(12, '0')
  const receiptId = `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${nextNumber().toString(16).padStart(12, '0')}`
  return delivery(customerId, { receiptId, receivedAt: time, ...more })
}

const pace = <Result>(step: () => Promise<Result>): Promise<Result> => step()

const purge = ({ purges }: Store, before: number, { orders = false, dryRun = false } = {}) =>
  purgeDeliveries({ purges, pace }, { before, orders, dryRun })

const all = { most: 1e6, look: 1e6 }
const receiptsOf = (deliveries: readonly { receiptId: string }[]) => deliveries.map(({ receiptId }) => receiptId)

let clock = 2_000_000_000_000

/** Returns a time after all others, and removes what was stored before. */
async function begin(store: Store): Promise<number> {
  clock += 1_000_000
  await purge(store, clock, { orders: true })
  return clock
}

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
      const gone = { deliveries: 4, orders: 0, payloadBytes: bytesOf(first, echo, none, before) }
      expect(await purge(store, start + 10, { dryRun: true })).toEqual(gone)
      expect(await store.deliveries.findByReceipt(first.receiptId)).toBeDefined()
      expect(await purge(store, start + 10)).toEqual(gone)
      expect(await purge(store, start + 10)).toEqual({ deliveries: 0, orders: 0, payloadBytes: 0 })
      const { deliveries } = store
      for (const each of [first, echo, none, before]) {
        expect(await deliveries.findByReceipt(each.receiptId)).toBeUndefined()
      }
      expect(receiptsOf(await deliveries.history(one.id, 'old'))).toEqual([second.receiptId])
      expect(receiptsOf(await deliveries.history(one.id, 'echoed'))).toEqual([later.receiptId, made.receiptId])
      expect(await deliveries.history(one.id, 'echoed', { most: 1 })).toHaveLength(1)
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

    withCustomers('orders go whole where that is wanted, and begin anew', async (store, one, two) => {
      const start = await begin(store)
      const first = receivedAt(start, one.id, { orderId: 'a' })
      const echo = receivedAt(start + 1, one.id, { orderId: 'a', payload: first.payload })
      const other = receivedAt(start + 2, two.id, { orderId: 'a' })
      const young = receivedAt(start + 20, two.id, { orderId: 'b' })
      await deliverAll(store, [first, echo, other, young])
      const gone = { deliveries: 3, orders: 2 }
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

    withCustomers('positions are not given twice, even if the last delivery was removed', async (store, one) => {
      const start = await begin(store)
      const last = receivedAt(start, one.id)
      await deliverAll(store, [last])
      const position = (await store.deliveries.findByReceipt(last.receiptId))?.position ?? 0
      expect((await purge(store, start + 1, { orders: true })).deliveries).toBeGreaterThan(0)
      const [next, another] = [receivedAt(start + 2, one.id), receivedAt(start + 3, one.id)]
      await Promise.all([next, another].map((each) => store.deliveries.deliver(each)))
      const positions = await Promise.all(
        [next, another].map(async ({ receiptId }) => (await store.deliveries.findByReceipt(receiptId))?.position),
      )
      expect(positions).toEqual([position + 1, position + 2])
    })

    withCustomers('an idempotency key whose delivery was removed counts as new', async (store, one) => {
      const start = await begin(store)
      const under = (at: number, payload: string) =>
        receivedAt(start + at, one.id, {
          orderId: null,
          payload: Buffer.from(payload),
          idempotency: { key: `k-${start}`, notBefore: 0 },
        })
      await deliverAll(store, [under(0, '{"Status":1}')])
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
      const none = { deliveries: 0, orders: 0, payloadBytes: 0 }
      expect(await purge(store, start + 10, { orders: true, dryRun: true })).toEqual(none)
      expect(await purge(store, start + 10, { orders: true })).toEqual(none)
      expect(await store.deliveries.findByReceipt(late.receiptId)).toBeDefined()
    })

    withCustomers('a clock that was ahead once stops no later purge', async (store) => {
      const { purges } = store
      const start = await begin(store)
      const years = 1e11
      const claim = (now: number) => purges.claim({ now, until: now + 60, due: now - 10 })
      expect(await claim(start + years)).toBe(true)
      expect(await claim(start)).toBe(true)
      await purges.finish(start + years)
      expect(await claim(start)).toBe(true)
      await purges.finish(start)
      expect([await claim(start + 5), await claim(start + 11)]).toEqual([false, true])
      await purges.finish(start)
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
      expect(await store.purges.state()).toEqual({ generation: before.generation + 1, position })
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
      await purges.finish(start)
      expect([await claim(start + 92, start), await claim(start + 92, start + 1)]).toEqual([false, true])
    })

    withCustomers('whatever was stored, what is left agrees with the model', async (store, one, two) => {
      const step = fc.record({
        who: fc.nat(1),
        order: fc.constantFrom('a', 'b', 'c', null),
        body: fc.nat(1),
        later: fc.nat(3),
      })
      const round = fc.record({ steps: fc.array(step, { maxLength: 12 }), cut: fc.nat(12), orders: fc.boolean() })
      await fc.assert(
        fc.asyncProperty(fc.array(round, { minLength: 1, maxLength: 3 }), async (rounds) => {
          clock += 1000
          const [start, names] = [clock, clock]
          const customers = [one, two]
          let time = start
          // Not by time: another test stores receipts of a clock that is ahead.
          const from = (await store.deliveries.after(0, {}, all)).deliveries.at(-1)?.position ?? 0
          let model: Modelled[] = []
          let latestCut = 0
          for (const { steps, cut: later, orders } of rounds) {
            // What an order needed at a former cut may be out of its history, but is still there until the next one.
            const cut = Math.max(latestCut, later)
            latestCut = cut
            for (const { who, order, body, later } of steps) {
              const { id } = customers[who] as Customer
              const orderId = order && `${order}-${names}`
              const payload = Buffer.from(`{"Status":${body}}`)
              time += later
              const sent = receivedAt(time, id, { orderId, status: body, payload })
              const receipt = await store.deliveries.deliver(sent)
              expect(receipt.duplicate).toBe(isEcho(model, sent))
              model.push({ sent, echo: receipt.duplicate })
            }
            await purge(store, start + cut, { orders })
            model = afterPurge(model, start + cut, orders)
            const there = (await store.deliveries.after(from, {}, all)).deliveries
            expect(receiptsOf(there)).toEqual(receiptsOf(model.map(({ sent }) => sent)))
            for (const { id } of customers) {
              const states: string[] = []
              for (const orderId of ['a', 'b', 'c'].map((order) => `${order}-${names}`)) {
                const theirs = model.filter(({ sent }) => sent.customerId === id && sent.orderId === orderId)
                const history = await store.deliveries.history(id, orderId)
                expect(receiptsOf(history)).toEqual(receiptsOf(theirs.map(({ sent }) => sent)).toReversed())
                const state = theirs.findLast(({ echo }) => !echo)?.sent.receiptId
                expect((await store.deliveries.orderState(id, orderId))?.receiptId).toBe(state)
                if (state !== undefined) states.push(state)
              }
              const listed = (await store.deliveries.orders(null, { customerId: id }, all)).orders
              const ours = listed.filter(({ orderId }) => orderId.endsWith(`-${names}`))
              expect(receiptsOf(ours)).toEqual(states)
            }
          }
        }),
        { numRuns: 40 },
      )
    })
  })
}

interface Modelled {
  readonly sent: NewDelivery
  readonly echo: boolean
}

const sameOrder = (one: NewDelivery, other: NewDelivery): boolean =>
  one.orderId !== null && one.orderId === other.orderId && one.customerId === other.customerId

/** Whether a delivery has the bytes of its order's latest one. */
function isEcho(model: readonly Modelled[], sent: NewDelivery): boolean {
  const latest = model.findLast((each) => sameOrder(each.sent, sent))
  return latest !== undefined && Buffer.compare(latest.sent.payload, sent.payload) === 0
}

function afterPurge(model: readonly Modelled[], before: number, orders: boolean): Modelled[] {
  return model.filter((each) => {
    if (each.sent.receivedAt >= before) return true
    const theirs = model.filter(({ sent }) => sameOrder(sent, each.sent))
    const latest = theirs.at(-1)
    if (latest === undefined || (orders && latest.sent.receivedAt < before)) return false
    return each === latest || each === theirs.findLast(({ echo }) => !echo)
  })
}
