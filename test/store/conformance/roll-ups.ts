import fc from 'fast-check'
import { describe, expect } from 'vitest'
import type { Counts, Customer, NewDelivery, Store } from '#src/store/store.ts'
import { runs } from '../../support/random-runs.ts'
import { auditEvent, delivery, nextNumber } from '../../support/store/store-rows.ts'
import { deliverAll, type Open, promises } from './promises.ts'
import { nextTime, purge, receivedAt } from './purging.ts'

const HOUR = 3_600_000
const DAYS = 10
const PLENTY = 100_000

const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('deliver' as const),
      who: fc.nat(1),
      order: fc.constantFrom('a', 'b', null),
      status: fc.nat(3),
      key: fc.constantFrom('k', 'l', null, null, null),
      later: fc.integer({ min: -2 * HOUR, max: 3 * HOUR }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('count' as const), look: fc.integer({ min: 1, max: 5 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('purge' as const), orders: fc.boolean(), cut: fc.nat(40) }) },
)

const day = (start: number) => ({ from: start / HOUR, to: start / HOUR + 24 * DAYS })

const textOf = ({ deliveries }: Pick<Counts, 'deliveries'>): string[] =>
  deliveries.map(({ period, byStatus, echoes }) => `${period}: ${byStatus}, ${echoes}`).sort()

/** Midnight, after the times of all other tests. */
const nextMidnight = (): number => Math.ceil(nextTime(2 * DAYS * 24 * HOUR) / (24 * HOUR)) * 24 * HOUR

export function describeRollUps(name: string, open: Open): void {
  describe(`${name}: counts by hour`, () => {
    const { promise, withCustomers } = promises(open)

    withCustomers(
      'whatever was stored, purged, and counted by two processes at once, the counts are those of what was accepted',
      async (store, one, two) => {
        const other = await open()
        await fc.assert(
          fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
            const start = nextMidnight()
            nextTime(DAYS * 24 * HOUR)
            const customers = [one, two]
            const model: Model = { stored: [] }
            let time = start + 22 * HOUR
            const counting: Promise<unknown>[] = []
            for (const each of steps) {
              if (each.kind === 'count') {
                counting.push(store.rollUps.count(each.look), other.rollUps.count(each.look))
              } else if (each.kind === 'purge') {
                await purge(store, start + each.cut * HOUR, { orders: each.orders })
              } else {
                const { who, order, status, key } = each
                time = Math.max(start, time + each.later)
                const payload = Buffer.from(`{"Status":${status}}`)
                const idempotency = key && { key: `${key}-${who}-${order}-${status}-${start}`, notBefore: 0 }
                const orderId = order && `${order}-${start}`
                const sent = receivedAt(time, customers[who]?.id ?? '', { orderId, status, payload, idempotency })
                await accept(store, sent, model)
              }
            }
            await Promise.all(counting)
            for (const store_ of [store, other])
              for (const customerId of [one.id, two.id, undefined])
                for (const hoursEach of [1, 24]) {
                  const range = { customerId, ...day(start), hoursEach }
                  const counts = await store_.rollUps.read(range, PLENTY)
                  expect(textOf(counts)).toEqual(expected(model, customerId, hoursEach))
                  expect(counts.notCountedFrom).toBeUndefined()
                }
          }),
          { numRuns: runs(30) },
        )
        await other.close()
      },
    )

    withCustomers('a purge counts what is not counted yet, also more than one step of it', async (store, { id }) => {
      const start = nextMidnight()
      const sent = Array.from({ length: 12_000 }, (_, n) => receivedAt(start + n, id, { orderId: null }))
      for (let at = 0; at < sent.length; at += 500)
        await Promise.all(sent.slice(at, at + 500).map((each) => store.deliveries.deliver(each)))
      const last = receivedAt(start + 2 * HOUR, id)
      await store.deliveries.deliver(last)
      expect((await purge(store, start + HOUR)).deliveries).toBeGreaterThanOrEqual(12_000)
      const { deliveries } = await store.rollUps.read({ customerId: id, ...day(start), hoursEach: 24 }, PLENTY)
      expect(deliveries).toEqual([{ period: start / HOUR / 24, byStatus: [0, 12_001, 0, 0], echoes: 0 }])
    })

    withCustomers('an erasure leaves the counts as they are', async (store, { id }) => {
      const start = nextMidnight()
      await deliverAll(store, [receivedAt(start, id), receivedAt(start, id)])
      await store.customers.remove(id, { tokenGeneration: 'ended', now: 1, erase: true })
      await store.purges.erase(id, 0, PLENTY)
      await store.purges.eraseNames(id)
      const range = { customerId: id, ...day(start), hoursEach: 1 }
      expect(textOf(await store.rollUps.read(range, PLENTY))).toEqual([`${start / HOUR}: 0,2,0,0, 0`])
    })

    withCustomers('a read that finds too much to count says where it stops', async (store, { id }) => {
      while ((await store.rollUps.count(PLENTY)) > 0);
      const start = nextMidnight()
      await deliverAll(
        store,
        [1, 2, 3].map((n) => receivedAt(start + n, id)),
      )
      const range = { customerId: id, ...day(start), hoursEach: 1 }
      const read = async (look: number) => {
        const { deliveries, notCountedFrom } = await store.rollUps.read(range, look)
        return [deliveries[0]?.byStatus[1], notCountedFrom]
      }
      expect([await read(2), await read(3)]).toEqual([
        [2, start + 3],
        [3, undefined],
      ])
      expect(await store.rollUps.count(2)).toBe(2)
      expect([await read(0), await read(1)]).toEqual([
        [2, start + 3],
        [3, undefined],
      ])
      expect([await store.rollUps.count(2), await store.rollUps.count(2)]).toEqual([1, 0])
      expect(await read(0)).toEqual([3, undefined])
    })

    withCustomers(
      'nothing is counted outside of the range, nor for a customer that does not exist',
      async (store, one) => {
        const start = nextMidnight()
        const times = [-1, 0, HOUR - 1, HOUR]
        await deliverAll(
          store,
          times.map((time) => delivery(one.id, { receivedAt: start + time })),
        )
        for (const counted of [false, true]) {
          if (counted) while ((await store.rollUps.count(PLENTY)) > 0);
          const read = (customerId: string) =>
            store.rollUps.read({ customerId, from: start / HOUR, to: start / HOUR + 1, hoursEach: 1 }, PLENTY)
          expect(textOf(await read(one.id))).toEqual([`${start / HOUR}: 0,2,0,0, 0`])
          expect(textOf(await read('nobody'))).toEqual([])
        }
      },
    )

    withCustomers('refusals are added with the events that describe them, or not at all', async (store, one, two) => {
      const hour = nextMidnight() / HOUR
      const of = (customer: Customer | null, errorCode: string, count: number, action = 'delivery.refused') => ({
        hour,
        customerId: customer?.id ?? null,
        action,
        errorCode,
        count,
      })
      const unknown = { ...of(null, 'A', 4), customerId: `nobody-${nextNumber()}` }
      await store.audit.append([], [of(one, 'A', 1), of(two, 'A', 2), of(null, 'A', 3), unknown, of(one, 'B', 1)])
      await store.audit.append([auditEvent()], [of(one, 'A', 5), of(one, 'A', 6, 'login.refused')])
      const broken = { ...auditEvent(), at: null as never }
      await expect(store.audit.append([broken], [of(one, 'A', 100)])).rejects.toThrow()
      const read = async (customerId: string | undefined) =>
        (await store.rollUps.read({ customerId, from: hour, to: hour + 1, hoursEach: 1 }, 0)).refusals
          .map(({ period, action, errorCode, count }) => `${period - hour} ${action} ${errorCode} ${count}`)
          .sort()
      expect(await read(one.id)).toEqual(['0 delivery.refused A 6', '0 delivery.refused B 1', '0 login.refused A 6'])
      expect(await read(two.id)).toEqual(['0 delivery.refused A 2'])
      expect(await read(undefined)).toEqual([
        '0 delivery.refused A 15',
        '0 delivery.refused B 1',
        '0 login.refused A 6',
      ])
    })

    promise('two processes that add refusals at once lose none', async (store) => {
      const other = await open()
      const hour = nextMidnight() / HOUR
      const codes = Array.from({ length: 20 }, (_, n) => `CODE_${n}`)
      const add = (store_: Store, all: readonly string[]) =>
        store_.audit.append(
          [],
          all.map((errorCode) => ({ hour, customerId: null, action: 'delivery.refused', errorCode, count: 1 })),
        )
      const reversed = codes.toReversed()
      await Promise.all(Array.from({ length: 20 }, (_, n) => (n % 2 === 0 ? add(store, codes) : add(other, reversed))))
      const range = { customerId: undefined, from: hour, to: hour + 1, hoursEach: 1 }
      const { refusals } = await store.rollUps.read(range, 0)
      expect(refusals.map(({ count }) => count)).toEqual(codes.map(() => 20))
      await other.close()
    })
  })
}

interface Model {
  readonly stored: {
    readonly customerId: string
    readonly hour: number
    readonly status: number
    readonly echo: boolean
  }[]
}

/** Delivers, and remembers what was stored: a retry has the receipt of the first delivery and is not stored. */
async function accept(store: Store, sent: NewDelivery, { stored }: Model): Promise<void> {
  const { customerId, status, receivedAt: at } = sent
  const { duplicate: echo } = await store.deliveries.deliver(sent)
  if ((await store.deliveries.findByReceipt(sent.receiptId)) === undefined) return
  stored.push({ customerId, hour: Math.floor(at / HOUR), status, echo })
}

function expected({ stored }: Model, customerId: string | undefined, hoursEach: number): string[] {
  const periods = new Map<number, { readonly byStatus: number[]; echoes: number }>()
  for (const each of stored) {
    if (customerId !== undefined && each.customerId !== customerId) continue
    const period = Math.floor(each.hour / hoursEach)
    const counts = periods.get(period) ?? { byStatus: [0, 0, 0, 0], echoes: 0 }
    periods.set(period, counts)
    counts.byStatus[each.status] = (counts.byStatus[each.status] ?? 0) + 1
    counts.echoes += Number(each.echo)
  }
  return textOf({ deliveries: Array.from(periods, ([period, counts]) => ({ period, ...counts })) })
}
