import { describe, expect } from 'vitest'
import type { Pulse, PulseBounds, Store } from '#src/store/store.ts'
import { delivery } from '../../support/store/store-rows.ts'
import { deliverAll, type Open, promises } from './promises.ts'

const wide: PulseBounds = { from: 0, look: 1e6, newest: 5 }

const START = 1_763_726_400_000
const SECOND = START / 1000

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
          delivery(one.id, { receivedAt: START + 999, status: 0 }),
          delivery(two.id, { receivedAt: START + 1000, status: 2, orderId: null }),
          delivery(one.id, { receivedAt: START + 1999, ...echo }),
          delivery(one.id, { receivedAt: START + 1999, ...echo }),
          delivery(one.id, { receivedAt: START + 5, status: 0 }),
          delivery(one.id, { receivedAt: START - 1, status: 1 }),
        ]
        await deliverAll(store, sent)
        const pulse = await store.deliveries.pulse(start, wide)
        expect(counted(pulse)).toEqual([
          [SECOND - 1, '0 1 0 0', 0],
          [SECOND, '2 0 0 0', 0],
          [SECOND + 1, '0 0 1 2', 1],
        ])
        expect(pulse).toMatchObject({ since: undefined, deliveries: 6 })
        const { deliveries } = await store.deliveries.after(start, {}, { limit: 10, scan: 10 })
        expect(pulse.position).toBe(deliveries.at(-1)?.position)
        expect(pulse.newest).toEqual(deliveries.toReversed().slice(0, 5))
        expect(await store.deliveries.pulse(pulse.position, wide)).toEqual({ ...idle, position: pulse.position })
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
          await deliveries.deliver(
            delivery(id, { receivedAt: START + n * 250, status, orderId: `w-${writer}`, payload }),
          )
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
