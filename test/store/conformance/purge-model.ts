import fc from 'fast-check'
import { describe, expect } from 'vitest'
import type { Customer, NewDelivery } from '#src/store/store.ts'
import { runs } from '../../support/random-runs.ts'
import { type Open, promises } from './promises.ts'
import { all, nextTime, purge, receiptsOf, receivedAt } from './purging.ts'

const step = fc.record({
  who: fc.nat(1),
  order: fc.constantFrom('a', 'b', 'c', null),
  body: fc.nat(1),
  later: fc.integer({ min: -3, max: 4 }),
})
const round = fc.record({ steps: fc.array(step, { maxLength: 12 }), cut: fc.nat(12), orders: fc.boolean() })

export function describePurgeModel(name: string, open: Open): void {
  describe(`${name}: purges of anything`, () => {
    const { withCustomers } = promises(open)

    withCustomers('whatever was stored, what is left agrees with the model', async (store, one, two) => {
      const { deliveries } = store
      await fc.assert(
        fc.asyncProperty(fc.array(round, { minLength: 1, maxLength: 3 }), async (rounds) => {
          const start = nextTime(1000)
          const customers = [one, two]
          let time = start
          const from = (await deliveries.after(0, {}, all)).deliveries.at(-1)?.position ?? 0
          const model = createModel()
          const shown = new Map<string, string[]>()
          const left = new Set<string>()
          for (const { steps, cut, orders } of rounds) {
            for (const { who, order, body, later } of steps) {
              const { id } = customers[who] as Customer
              const payload = Buffer.from(`{"Status":${body}}`)
              time += later
              const sent = receivedAt(time, id, { orderId: order && `${order}-${start}`, status: body, payload })
              expect((await deliveries.deliver(sent)).duplicate).toBe(model.deliver(sent))
            }
            await purge(store, start + cut, { orders })
            model.purge(start + cut, orders)
            expect(receiptsOf((await deliveries.after(from, {}, all)).deliveries)).toEqual(model.receipts())
            for (const { id } of customers) {
              const states: string[] = []
              for (const orderId of ['a', 'b', 'c'].map((order) => `${order}-${start}`)) {
                const { history, state } = model.order(id, orderId)
                const receipts = receiptsOf(await deliveries.history(id, orderId))
                expect(receipts).toEqual(history)
                expect(receipts.filter((each) => left.has(each))).toEqual([])
                const before = shown.get(id + orderId) ?? []
                for (const each of before) if (!receipts.includes(each)) left.add(each)
                shown.set(id + orderId, receipts)
                expect((await deliveries.orderState(id, orderId))?.receiptId).toBe(state)
                if (state !== undefined) states.push(state)
              }
              const listed = (await deliveries.orders(null, { customerId: id }, all)).orders
              expect(receiptsOf(listed.filter(({ orderId }) => orderId.endsWith(`-${start}`)))).toEqual(states)
            }
          }
        }),
        { numRuns: runs(20) },
      )
    })
  })
}

export interface Stored {
  readonly sent: NewDelivery
  /** The delivery of the same order before it. */
  readonly previous: Stored | undefined
}

/** Also computes what stays: see `purge`. */
export function createModel() {
  let there: Stored[] = []
  const orders = new Map<string, { readonly state: Stored; readonly latest: Stored }>()
  const keyOf = (customerId: string, orderId: string): string => `${customerId} ${orderId}`

  /** Those up to the place that parts old from young ones with the fewest exceptions, without the last one. */
  const looked = (before: number): Set<Stored> => {
    let [balance, most, end] = [0, 0, 0]
    for (const [index, { sent }] of there.entries()) {
      balance += sent.receivedAt < before ? 1 : -1
      if (balance > most) [most, end] = [balance, index + 1]
    }
    return new Set(there.slice(0, Math.min(end, there.length - 1)))
  }

  return {
    /** Returns whether it is an echo: has the bytes of its order's latest delivery. */
    deliver(sent: NewDelivery): boolean {
      const key = sent.orderId && keyOf(sent.customerId, sent.orderId)
      const order = key ? orders.get(key) : undefined
      const stored = { sent, previous: order?.latest }
      there.push(stored)
      const echoed = order !== undefined && Buffer.compare(order.latest.sent.payload, sent.payload) === 0
      if (key) orders.set(key, { state: echoed ? order.state : stored, latest: stored })
      return echoed
    },

    /** Returns what is old enough to go, and what goes. Where something `stays`, the other delivery of its order does, too. */
    purge(before: number, wholeOrders: boolean, stays: (each: Stored) => boolean = () => false) {
      const end = looked(before)
      const isOld = (each: Stored): boolean => end.has(each) && each.sent.receivedAt < before
      const due = new Set(there.filter(isOld))
      const gone = new Set<Stored>()
      const needed = new Set<Stored>()
      for (const [key, { state, latest }] of orders) {
        const expired = wholeOrders && isOld(latest)
        const goes = expired && !stays(state) && !stays(latest)
        for (const each of [state, latest]) {
          ;(goes ? gone : needed).add(each)
          if (!expired) due.delete(each)
        }
        if (goes) orders.delete(key)
      }
      const all = there
      there = all.filter((each) => !gone.has(each) && (needed.has(each) || !isOld(each) || stays(each)))
      return { due, gone: all.filter((each) => !there.includes(each)) }
    },

    receipts: () => receiptsOf(there.map(({ sent }) => sent)),

    /** A history ends at the first delivery that was removed. After that comes only the one that made the state. */
    order(customerId: string, orderId: string): { history: string[]; state: string | undefined } {
      const order = orders.get(keyOf(customerId, orderId))
      const history: Stored[] = []
      for (let each = order?.latest; each && there.includes(each); each = each.previous) history.push(each)
      if (order && !history.includes(order.state)) history.push(order.state)
      return { history: receiptsOf(history.map(({ sent }) => sent)), state: order?.state.sent.receiptId }
    },
  }
}
