import { describe, expect } from 'vitest'
import type { NewDelivery, Pulse, PulseBounds, Store } from '#src/store/store.ts'
import { delivery, nextNumber } from '../../support/store-rows.ts'
import { deliverAll, type Open, promises } from './promises.ts'

const wide: PulseBounds = { from: 0, look: 1e6, newest: 5 }

/** Later than all deliveries of other tests, whose receipts do not tell when they came. */
const START = 1_900_000_000_000
const SECOND = START / 1000

/** As the service makes them: the receipt begins with the time. */
function received(customerId: string, receivedAt: number, more: Partial<NewDelivery> = {}): NewDelivery {
  const [time, number] = [receivedAt.toString(16).padStart(12, '0'), nextNumber().toString(16).padStart(12, '0')]
  const receiptId = `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${number}`
  return delivery(customerId, { receiptId, receivedAt, ...more })
}

const positionNow = async ({ deliveries }: Store): Promise<number> => (await deliveries.pulse(undefined, wide)).position

const counted = ({ seconds }: Pulse) =>
  seconds.map(({ second, byStatus, duplicates }) => [second, byStatus.join(' '), duplicates])

export function describePulses(name: string, open: Open): void {
  describe(`${name}: pulses`, () => {
    const { withCustomers } = promises(open)

    withCustomers(
      'what was committed after a position is counted by second, Status and duplicate',
      async (store, one, two) => {
        const start = await positionNow(store)
        const idle = { position: start, since: undefined, deliveries: 0, seconds: [], newest: [] }
        expect(await store.deliveries.pulse(start, wide)).toEqual(idle)
        const echo = { orderId: 'p', status: 3, payload: Buffer.from('{"Status":3}') }
        const sent = [
          received(one.id, START + 999, { status: 0 }),
          received(two.id, START + 1000, { status: 2, orderId: null }),
          received(one.id, START + 1999, echo),
          received(one.id, START + 1999, echo),
          received(one.id, START + 5, { status: 0 }),
          received(one.id, START - 1, { status: 1 }),
        ]
        await deliverAll(store, sent)
        const pulse = await store.deliveries.pulse(start, wide)
        expect(counted(pulse)).toEqual([
          [SECOND - 1, '0 1 0 0', 0],
          [SECOND, '2 0 0 0', 0],
          [SECOND + 1, '0 0 1 2', 1],
        ])
        expect(pulse).toMatchObject({ since: undefined, deliveries: 6 })
        const { deliveries } = await store.deliveries.after(start, {}, { most: 10, look: 10 })
        expect(pulse.position).toBe(deliveries.at(-1)?.position)
        expect(pulse.newest).toEqual(deliveries.toReversed().slice(0, 5))
        expect(await store.deliveries.pulse(pulse.position, wide)).toEqual({ ...idle, position: pulse.position })
      },
    )

    withCustomers(
      'without a position, with an unknown one and with one too far back it begins again',
      async (store, one) => {
        const at = START + 60_000
        const before = await positionNow(store)
        await deliverAll(store, [
          received(one.id, at - 1),
          // Out of order, as replicas commit them.
          received(one.id, at + 2001, { status: 2 }),
          received(one.id, at + 1, { status: 3 }),
          received(one.id, at + 1001, { status: 0 }),
          received(one.id, at + 1002, { status: 0 }),
        ])
        const position = before + 5
        // A second that is not whole was not counted from its beginning.
        for (const from of [at - 999, at]) {
          for (const after of [undefined, position + 1, 1e15, ...(name === 'sqlite' ? [-1e15] : [before - 1e6])]) {
            const pulse = await store.deliveries.pulse(after, { from, look: 1e6, newest: 2 })
            expect(pulse).toMatchObject({ position, since: at, deliveries: 4 })
            expect(counted(pulse)).toEqual([
              [at / 1000, '0 0 0 1', 0],
              [at / 1000 + 1, '2 0 0 0', 0],
              [at / 1000 + 2, '0 0 1 0', 0],
            ])
            expect(pulse.newest.map((each) => [each.position, each.receivedAt])).toEqual([
              [position, at + 1002],
              [position - 1, at + 1001],
            ])
          }
        }
        // Of five after the position it may look at three: one in the second that they begin with is missing.
        const cut = await store.deliveries.pulse(before, { from: at, look: 3, newest: 10 })
        expect(cut).toMatchObject({ position, since: at + 2000, deliveries: 3 })
        expect(cut.newest.map(({ receivedAt }) => receivedAt)).toEqual([at + 1002, at + 1001, at + 2001])
        const all = await store.deliveries.pulse(before, { from: at, look: 5, newest: 10 })
        expect(all).toMatchObject({ since: undefined, deliveries: 5 })
        expect(counted(all)).toHaveLength(3)
        expect(all.newest).toHaveLength(5)
        const none = { position, since: at + 10_000, deliveries: 0, seconds: [], newest: [] }
        expect(await store.deliveries.pulse(undefined, { ...wide, from: at + 9001 })).toEqual(none)
      },
    )

    withCustomers('the sum of all pulses is what many writers stored', async (store, one, two) => {
      const others = await Promise.all([open(), open()])
      const stores = [store, ...others]
      const WRITERS = 4
      const EACH = 60
      let position = await positionNow(store)
      let writing = stores.length * WRITERS
      const write = async ({ deliveries }: Store, writer: number): Promise<void> => {
        for (let n = 0; n < EACH; n++) {
          // Every other one is an echo.
          const status = Math.floor(n / 2) % 4
          const payload = Buffer.from(`{"Status":${status},"n":${Math.floor(n / 2)}}`)
          const { id } = writer % 2 ? one : two
          await deliveries.deliver(received(id, START + n * 250, { status, orderId: `w-${writer}`, payload }))
        }
        writing--
      }
      const writers = stores.flatMap((each, at) => Array.from({ length: WRITERS }, (_, n) => write(each, at * 10 + n)))
      const sums = { deliveries: 0, byStatus: [0, 0, 0, 0], duplicates: 0 }
      for (let more = true; more; ) {
        more = writing > 0
        const pulse: Pulse = await store.deliveries.pulse(position, wide)
        expect(pulse.since).toBe(undefined)
        expect(pulse.position).toBeGreaterThanOrEqual(position)
        position = pulse.position
        sums.deliveries += pulse.deliveries
        for (const { byStatus, duplicates } of pulse.seconds) {
          sums.byStatus = sums.byStatus.map((sum, status) => sum + (byStatus[status] ?? 0))
          sums.duplicates += duplicates
        }
      }
      await Promise.all(writers)
      const histories = await Promise.all(
        stores.flatMap((_, at) =>
          Array.from({ length: WRITERS }, (_, n) =>
            Promise.all([one, two].map(({ id }) => store.deliveries.history(id, `w-${at * 10 + n}`))),
          ),
        ),
      )
      const stored = histories.flat(2)
      expect(stored).toHaveLength(stores.length * WRITERS * EACH)
      expect(sums).toEqual({
        deliveries: stored.length,
        byStatus: [0, 1, 2, 3].map((status) => stored.filter((each) => each.status === status).length),
        duplicates: stored.length / 2,
      })
      for (const each of others) await each.close()
    })
  })
}
