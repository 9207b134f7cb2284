import fc from 'fast-check'
import { describe, expect } from 'vitest'
import type { Customer, NewDelivery, Store, WaitingDelivery } from '#src/store/store.ts'
import { isWanted } from '#src/store/store.ts'
import { laneOf } from '#src/webhook/lane.ts'
import { runs } from '../../support/random-runs.ts'
import {
  addEndpointWith as addEndpoint,
  confirmedAt,
  FAILED,
  pausedAt,
  rowAt,
  SET_ASIDE,
  saveProgress,
} from '../../support/webhooks/unsent.ts'
import { deliverAll, type Open, promises } from './promises.ts'
import { createModel, type Stored } from './purge-model.ts'
import { all, begin, nextTime, purge, receiptsOf, receivedAt } from './purging.ts'

const DAY = 86_400_000

const positionsOf = async ({ deliveries }: Store, from = 0) =>
  (await deliveries.after(from, {}, all)).deliveries.map(({ position }) => position)

const lastPosition = async (store: Store): Promise<number> => (await positionsOf(store)).at(-1) ?? 0

export function describePurgesOfUnsent(name: string, open: Open): void {
  describe(`${name}: purges keep what is unsent`, () => {
    const { withCustomers } = promises(open)

    /** Old deliveries without orders, and a young one. */
    const stored = async (
      store: Store,
      count: number,
      of: (n: number) => Partial<NewDelivery>,
      ...[one]: Customer[]
    ) => {
      for (const { id } of await store.webhooks.list()) await store.webhooks.remove(id)
      const start = await begin(store)
      const last = await lastPosition(store)
      const old = Array.from({ length: count }, (_, n) =>
        receivedAt(start + n, one?.id as string, { orderId: null, ...of(n) }),
      )
      await deliverAll(store, [...old, receivedAt(start + 100, one?.id as string)])
      const there = await positionsOf(store, last)
      return { before: start + 50, at: (n: number) => there[n] as number, positions: () => positionsOf(store, last) }
    }
    const found = async (store: Store, id: string) => {
      const { removedUnsent, waiting, failing, setAside, failingSince } = (await store.webhooks.find(id)) ?? {}
      return { removedUnsent, waiting, failing, setAside, failingSince }
    }

    withCustomers(
      'what lies after the position of an endpoint that wants it, unless it is confirmed',
      async (store, one) => {
        const { before, at, positions } = await stored(store, 5, (n) => ({ status: n % 4 }), one)
        const id = await addEndpoint(store, { position: at(1), statuses: [2, 3] }, { confirmed: [confirmedAt(at(3))] })
        const counts = [{ id, kept: 1, removed: 0, last: at(2) }]
        expect(await purge(store, before, { dryRun: true })).toMatchObject({ deliveries: 4, webhooks: counts })
        expect(await purge(store, before)).toMatchObject({ deliveries: 4, webhooks: counts })
        expect(await positions()).toEqual([at(2), at(5)])
        expect(await purge(store, before, { unsent: true, dryRun: true })).toMatchObject({
          deliveries: 1,
          webhooks: [{ id, kept: 0, removed: 1 }],
        })
        expect(await found(store, id)).toMatchObject({ removedUnsent: 0 })
        expect(await purge(store, before, { unsent: true })).toMatchObject({
          deliveries: 1,
          webhooks: [{ id, kept: 0, removed: 1 }],
        })
        expect(await found(store, id)).toMatchObject({ removedUnsent: 1, waiting: 0 })
        expect(await positions()).toEqual([at(5)])
      },
    )

    withCustomers('what waits in a row, also set aside; --unsent takes the rows along', async (store, one) => {
      const { before, at, positions } = await stored(store, 6, () => ({}), one)
      const kept = [
        rowAt(at(0), 7, FAILED),
        rowAt(at(1), 7),
        rowAt(at(2), 8, SET_ASIDE),
        // Not old: it is the first of its lane once the others are gone.
        rowAt(at(6), 7),
      ]
      const id = await addEndpoint(store, { position: at(6) }, { kept })
      expect(await found(store, id)).toMatchObject({ waiting: 3, failing: 1, setAside: 1 })
      expect(await purge(store, before)).toMatchObject({ deliveries: 3, webhooks: [{ id, kept: 3, last: at(2) }] })
      expect(await positions()).toEqual([at(0), at(1), at(2), at(6)])
      expect(await purge(store, before, { unsent: true, now: 5000 })).toMatchObject({
        deliveries: 3,
        webhooks: [{ id, kept: 0, removed: 3 }],
      })
      const counters = { removedUnsent: 3, waiting: 1, failing: 0, setAside: 0, failingSince: null }
      expect(await found(store, id)).toEqual(counters)
      expect(await store.webhooks.failing(id, 10)).toEqual([])
      const { deliveries } = await store.webhooks.due(id, 5000, 10)
      expect(deliveries).toMatchObject([{ position: at(6), nextAt: 5000 }])
    })

    withCustomers('a single row keeps its delivery, whether it waits or is set aside', async (store, one) => {
      for (const more of [{}, SET_ASIDE]) {
        const { before, at, positions } = await stored(store, 2, () => ({}), one)
        const id = await addEndpoint(store, { position: at(2) }, { kept: [rowAt(at(0), 7, more)] })
        expect(await purge(store, before)).toMatchObject({ deliveries: 1, webhooks: [{ id, kept: 1, last: at(0) }] })
        expect(await positions()).toEqual([at(0), at(2)])
      }
    })

    withCustomers('an endpoint that is paused for more than 30 days holds nothing back', async (store, one) => {
      const { before, at } = await stored(store, 3, () => ({}), one)
      const now = 1_800_000_000_000
      const [long, short] = [
        await addEndpoint(store, { position: at(0) }),
        await addEndpoint(store, { position: at(1) }),
      ]
      await store.webhooks.change(long, pausedAt(now - 30 * DAY - 1))
      await store.webhooks.change(short, pausedAt(now - 30 * DAY))
      const webhooks = expect.arrayContaining([
        { id: short, kept: 1, removed: 0, last: at(2) },
        { id: long, kept: 0, removed: 1, last: 0 },
      ])
      expect(await purge(store, before, { now })).toMatchObject({ deliveries: 2, webhooks })
      expect([await found(store, long), await found(store, short)]).toMatchObject([
        { removedUnsent: 1 },
        { removedUnsent: 0 },
      ])
      expect(await purge(store, before, { now: now + 1 })).toMatchObject({ deliveries: 1 })
      expect([await found(store, long), await found(store, short)]).toMatchObject([
        { removedUnsent: 2 },
        { removedUnsent: 1 },
      ])
    })

    withCustomers('an order stays whole while either of its deliveries is unsent', async (store, one) => {
      const start = await begin(store)
      for (const { id } of await store.webhooks.list()) await store.webhooks.remove(id)
      const first = receivedAt(start, one.id, { orderId: 'o' })
      const echo = receivedAt(start + 1, one.id, { orderId: 'o', payload: first.payload })
      await deliverAll(store, [first, echo, receivedAt(start + 100, one.id)])
      const [, position = 0, repeated = 0] = (await positionsOf(store)).slice(-4)
      for (const [wanted, row] of [
        [{ duplicates: false, position: 0 }, position],
        [{ duplicates: true, position }, repeated],
      ] as const) {
        const id = await addEndpoint(store, { ...wanted, customerId: one.id })
        const report = { webhooks: [{ id, kept: 1, removed: 0, last: row }] }
        expect(await purge(store, start + 50, { orders: true })).toMatchObject(report)
        expect(receiptsOf(await store.deliveries.history(one.id, 'o'))).toEqual([echo.receiptId, first.receiptId])
        await store.webhooks.remove(id)
      }
      const id = await addEndpoint(store, { position, customerId: one.id })
      expect(await purge(store, start + 50, { orders: true, unsent: true })).toMatchObject({
        orders: 1,
        webhooks: [{ id, removed: 1 }],
      })
      expect(await found(store, id)).toMatchObject({ removedUnsent: 1 })
    })

    withCustomers('what the daily purge kept is told until the endpoint has taken it', async (store, one) => {
      const { before, at } = await stored(store, 2, () => ({}), one)
      const [id, gone] = [
        await addEndpoint(store, { position: at(0) - 1 }),
        await addEndpoint(store, { position: at(0) - 1 }),
      ]
      const { webhooks } = await purge(store, before)
      const { purges } = store
      await purges.finish(before, webhooks)
      await store.webhooks.remove(gone)
      expect(await purges.held()).toEqual([{ id, kept: 2 }])
      await saveProgress(store, id, { position: at(1), kept: [rowAt(at(1), 1, FAILED), rowAt(at(2), 2)] })
      expect(await purges.held()).toEqual([{ id, kept: 2 }])
      await saveProgress(store, id, { settled: [{ position: at(1), lane: 1 }] })
      expect(await purges.held()).toEqual([])
      await purges.finish(before, [])
      expect(await purges.held()).toEqual([])
    })

    const step = fc.record({
      who: fc.nat(1),
      order: fc.constantFrom('a', 'b', null),
      body: fc.nat(1),
      later: fc.integer({ min: -2, max: 4 }),
      fates: fc.array(fc.constantFrom('none', 'row', 'failed', 'set-aside', 'confirmed'), {
        minLength: 3,
        maxLength: 3,
      }),
    })
    const endpoint = fc.record({
      who: fc.constantFrom(null, 0, 1),
      statuses: fc.constantFrom(null, [0], [1]),
      duplicates: fc.boolean(),
      upTo: fc.nat(12),
      pausedDays: fc.constantFrom(null, 29, 31),
    })
    const rounds = fc.record({
      steps: fc.array(step, { minLength: 1, maxLength: 12 }),
      endpoints: fc.array(endpoint, { maxLength: 3 }),
      cut: fc.nat(12),
      orders: fc.boolean(),
      unsent: fc.boolean(),
    })

    withCustomers(
      'whatever endpoints have taken, a purge removes and counts what the model does',
      async (store, one, two) => {
        const { deliveries, webhooks } = store
        await fc.assert(
          fc.asyncProperty(rounds, async ({ steps, endpoints, cut, orders, unsent }) => {
            for (const { id } of await webhooks.list()) await webhooks.remove(id)
            const start = nextTime(1000)
            await purge(store, start, { orders: true })
            const from = await lastPosition(store)
            const customers = [one, two].map(({ id }) => id)
            const model = createModel()
            let time = start
            const sent: NewDelivery[] = []
            for (const { who, order, body, later } of steps) {
              time += later
              const payload = Buffer.from(`{"Status":${body}}`)
              const orderId = order && `${order}-${start}`
              const each = receivedAt(time, customers[who] as string, { orderId, status: body, payload })
              await deliveries.deliver(each)
              model.deliver(each)
              sent.push(each)
            }
            const summaries = (await deliveries.after(from, {}, all)).deliveries
            const now = time + 1000 * DAY
            const known: { id: string; rows: WaitingDelivery[]; unsentTo: Set<string>; holds: boolean }[] = []
            for (const [index, { who, statuses, duplicates, upTo, pausedDays }] of endpoints.entries()) {
              const position =
                upTo === 0 ? from : (summaries[upTo - 1]?.position ?? (summaries.at(-1)?.position as number))
              const settings = { customerId: who === null ? null : (customers[who] as string), statuses, duplicates }
              const rows: WaitingDelivery[] = []
              const confirmed: number[] = []
              for (const [n, { fates }] of steps.entries()) {
                const { position, customerId, orderId } = summaries[n] as (typeof summaries)[number]
                const lane = laneOf(customerId, orderId, position)
                const more = {
                  none: undefined,
                  confirmed: undefined,
                  row: {},
                  failed: FAILED,
                  'set-aside': SET_ASIDE,
                }
                const fate = fates[index] as keyof typeof more
                // Only the first of a lane fails.
                const first = !rows.some((row) => row.lane === lane && row.setAsideAt === null)
                if (fate === 'confirmed') confirmed.push(position)
                else if (more[fate]) rows.push(rowAt(position, lane, fate === 'failed' && !first ? {} : more[fate]))
              }
              const unsentTo = new Set(
                summaries
                  .filter(
                    (each) =>
                      rows.some((row) => row.position === each.position) ||
                      (each.position > position && isWanted(settings, each) && !confirmed.includes(each.position)),
                  )
                  .map(({ receiptId }) => receiptId),
              )
              const id = await addEndpoint(
                store,
                { ...settings, position },
                {
                  kept: rows,
                  confirmed: confirmed.map(confirmedAt),
                },
              )
              if (pausedDays !== null) await webhooks.change(id, pausedAt(now - pausedDays * DAY))
              known.push({ id, rows, unsentTo, holds: !unsent && pausedDays !== 31 })
            }
            const has = ({ sent: { receiptId } }: Stored, { unsentTo }: (typeof known)[number]) =>
              unsentTo.has(receiptId)
            const { due, gone } = model.purge(start + cut, orders, (each) =>
              known.some((endpoint) => endpoint.holds && has(each, endpoint)),
            )
            const dry = await purge(store, start + cut, { orders, unsent, now, dryRun: true })
            const report = await purge(store, start + cut, { orders, unsent, now })
            expect(receiptsOf((await deliveries.after(from, {}, all)).deliveries)).toEqual(model.receipts())
            const goneReceipts = new Set(gone.map(({ sent: { receiptId } }) => receiptId))
            const positionOf = new Map(summaries.map(({ receiptId, position }) => [receiptId, position]))
            for (const endpoint of known) {
              const { id, rows, holds } = endpoint
              const kept = holds ? Array.from(due).filter((each) => has(each, endpoint)) : []
              const removed = gone.filter((each) => has(each, endpoint)).length
              const counts = {
                id,
                kept: kept.length,
                removed,
                last: Math.max(0, ...kept.map(({ sent: { receiptId } }) => positionOf.get(receiptId) as number)),
              }
              const shown = report.webhooks.find((each) => each.id === id) ?? { id, kept: 0, removed: 0, last: 0 }
              expect(shown).toEqual(counts)
              expect(dry.webhooks.find((each) => each.id === id)?.kept ?? 0).toBe(kept.length)
              const left = rows.filter(({ position }) =>
                summaries.some((each) => each.position === position && !goneReceipts.has(each.receiptId)),
              )
              const waiting = left.filter(({ setAsideAt }) => setAsideAt === null)
              expect(await found(store, id)).toMatchObject({
                removedUnsent: removed,
                waiting: waiting.length,
                failing: waiting.filter(({ failures }) => failures > 0).length,
                setAside: left.length - waiting.length,
              })
              const fates = await webhooks.fates(
                id,
                summaries.map(({ position }) => position),
              )
              const rowsLeft = Array.from(fates).filter(([, { state }]) => state === 'kept')
              expect(new Set(rowsLeft.map(([position]) => position))).toEqual(
                new Set(left.map(({ position }) => position)),
              )
              const dueNow = (await webhooks.due(id, now, 1000)).deliveries.map(({ lane }) => lane)
              expect(new Set(dueNow)).toEqual(new Set(waiting.map(({ lane }) => lane)))
            }
          }),
          { numRuns: runs(30) },
        )
      },
    )
  })
}
