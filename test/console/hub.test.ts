import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createLiveHub, type LiveReader } from '#src/console/live/hub.ts'
import type { Frame } from '#src/console/live/live.schema.ts'
import type { DeliverySummary, Pulse, PulseBounds } from '#src/store/store.ts'

const START = 1_900_000_000_000
const SECOND = START / 1000

interface Row {
  readonly position: number
  readonly receivedAt: number
  readonly status: number
}

/** A store that counts rows in memory, and how often it was read. */
function memoryStore() {
  const rows: Row[] = []
  const asked: (number | undefined)[] = []
  let fault: Error | undefined
  let since: number | undefined
  let held: Promise<void> | undefined
  const summary = ({ position, receivedAt, status }: Row): DeliverySummary => ({
    receiptId: `r${position}`,
    customerId: 'c',
    orderId: `o${position}`,
    status,
    receivedAt,
    duplicate: false,
    position,
    erased: false,
    payloadBytes: 1,
  })
  return {
    rows,
    asked,
    fail: (error: Error | undefined) => {
      fault = error
    },
    /** From now on a read that begins is complete from this moment on only, as after very many deliveries. */
    beginsAt: (at: number) => {
      since = at
    },
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>()
      held = promise
      return () => {
        held = undefined
        resolve()
      }
    },
    async pulse(after: number | undefined, { from, look, newest }: PulseBounds): Promise<Pulse> {
      asked.push(after)
      await held
      if (fault) throw fault
      const last = rows.at(-1)?.position ?? 0
      const continues = after !== undefined && after <= last && last - after <= look
      const wanted = rows.filter(({ position, receivedAt }) =>
        continues ? position > after && position <= last : position <= last && receivedAt >= (since ?? from),
      )
      const seconds = Map.groupBy(
        wanted.filter(({ receivedAt }) => receivedAt >= from),
        ({ receivedAt }) => Math.floor(receivedAt / 1000),
      )
      return {
        position: last,
        since: continues ? undefined : (since ?? Math.ceil(from / 1000) * 1000),
        deliveries: wanted.length,
        seconds: [...seconds]
          .sort(([one], [other]) => one - other)
          .map(([second, some]) => ({
            second,
            byStatus: [0, 1, 2, 3].map((status) => some.filter((row) => row.status === status).length),
            duplicates: 0,
          })),
        newest: wanted.toReversed().slice(0, newest).map(summary),
      }
    },
    origins: async (positions: readonly number[]) =>
      new Map(
        positions
          .filter((position) => position % 2 === 0)
          .map((position) => [position, { keyId: 'k', keyLabel: 'erp', address: '192.0.2.1', requestId: null }]),
      ),
    load: { items: () => 3, bytes: () => 400 } as never,
  }
}

function setUp() {
  const store = memoryStore()
  const clock = { time: START, now: () => clock.time, monotonic: () => clock.time }
  const refusals = new Map<string, { value: number }>()
  const log: string[] = []
  const accounts = { version: 1, asked: 0, endRevoked: async () => undefined as unknown }
  const calls = { replicas: 0, backupAt: 0 }
  const hub = createLiveHub({
    deliveries: store,
    customers: { names: async (ids) => ids.map((id) => ({ id, name: 'Kitap', email: `${id}@example.com` })) },
    async endRevoked() {
      accounts.asked++
      await accounts.endRevoked()
    },
    accountVersion: () => accounts.version,
    clock,
    store: 'sqlite',
    replicas: async () => ++calls.replicas,
    async backupAt() {
      calls.backupAt++
      return START - 5000
    },
    latency: () => ({ p50Ms: 1, p99Ms: 2 }),
    failed: () => 4,
    refusals: () => refusals,
    onStoreLost: (error) => void log.push(`lost: ${(error as Error).message}`),
    onStoreBack: () => void log.push('back'),
  })
  const deliver = (count = 1, status = 1, receivedAt = clock.time): void => {
    for (let number = 0; number < count; number++)
      store.rows.push({ position: (store.rows.at(-1)?.position ?? 0) + 1, receivedAt, status })
  }
  const second = async (): Promise<void> => {
    clock.time += 1000
    await hub.tick()
  }
  const refuse = (code: string): void => {
    const count = refusals.get(code) ?? { value: 0 }
    refusals.set(code, count)
    count.value++
  }
  return { hub, store, clock, log, accounts, calls, deliver, second, refuse }
}

/** A page: adds up what the frames count. */
function page() {
  const counts = new Map<number, number>()
  const refused = new Map<number, number>()
  const frames: Frame[] = []
  const state: { takes: boolean } = { takes: true }
  const reader: LiveReader = {
    operator: 'one',
    offer(frame) {
      if (!state.takes) return false
      frames.push(frame)
      const { Since: since, RefusedSince: refusedSince, Seconds: seconds } = frame
      for (const [each, from] of [
        [counts, since],
        [refused, refusedSince],
      ] as const)
        if (from !== undefined) for (const at of each.keys()) if (at >= from) each.delete(at)
      for (const { At, ByStatus, Refusals = {} } of seconds) {
        counts.set(At, (counts.get(At) ?? 0) + totalOf(ByStatus))
        refused.set(At, (refused.get(At) ?? 0) + totalOf(Object.values(Refusals)))
      }
      return true
    },
  }
  const last = () => frames.at(-1)
  const total = () => totalOf(counts.values())
  return { reader, frames, state, counts, refused, total, refusals: () => totalOf(refused.values()), last }
}

const totalOf = (counts: Iterable<number>): number => Iterator.from(counts).reduce((one, two) => one + two, 0)

describe('the live hub', () => {
  it('begins with the last 15 minutes, and then counts what is new, second by second', async () => {
    const { hub, deliver, second, refuse } = setUp()
    deliver(2, 0, START - 901_000)
    deliver(3, 2, START - 1500)
    const one = page()
    hub.join(one.reader)
    await second()
    expect(one.frames[0]).toEqual({
      At: new Date(START + 1000).toISOString(),
      Since: SECOND - 899,
      RefusedSince: SECOND,
      Seconds: [{ At: SECOND - 2, ByStatus: [0, 0, 3, 0], Duplicates: 0 }],
      Newest: [5, 4, 3].map((position) => ({
        ReceiptID: `r${position}`,
        Status: 2,
        Duplicate: false,
        ReceivedAt: new Date(START - 1500).toISOString(),
        OrderID: `o${position}`,
        CustomerID: 'c',
        KeyID: position === 4 ? 'k' : null,
        KeyLabel: position === 4 ? 'erp' : null,
        Address: position === 4 ? '192.0.2.1' : null,
        Customer: 'Kitap <c@example.com>',
      })),
      Skipped: 0,
      Latency: { P50Ms: 1, P99Ms: 2 },
      Failed: 4,
      Queue: { Deliveries: 3, Bytes: 400 },
      Replicas: 1,
      Store: 'sqlite',
      StoreUp: true,
      BackupAt: new Date(START - 5000).toISOString(),
      Consoles: 1,
    })
    deliver(250, 3)
    refuse('PRODUCT_NOT_AUTHORIZED')
    await second()
    expect(one.last()).toMatchObject({
      Seconds: [
        { At: SECOND + 1, ByStatus: [0, 0, 0, 250], Duplicates: 0 },
        { At: SECOND + 2, ByStatus: [0, 0, 0, 0], Duplicates: 0, Refusals: { PRODUCT_NOT_AUTHORIZED: 1 } },
      ],
      Skipped: 50,
    })
    expect(one.last()).not.toHaveProperty('Since')
    expect(
      one
        .last()
        ?.Newest.map(({ ReceiptID }) => ReceiptID)
        .slice(0, 2),
    ).toEqual(['r255', 'r254'])
    await second()
    expect(one.last()).toMatchObject({ Seconds: [], Newest: [], Skipped: 0 })
  })

  it('reads the store once a second for 100 readers, which get the same frame, and not at all for none', async () => {
    const { hub, store, accounts, calls, deliver, second } = setUp()
    await second()
    expect([store.asked, accounts.asked]).toEqual([[], 0])
    const pages = Array.from({ length: 100 }, page)
    const leaving = pages.map(({ reader }) => hub.join(reader))
    for (let number = 0; number < 20; number++) {
      deliver(7)
      await second()
    }
    expect([store.asked.length, accounts.asked]).toEqual([20, 20])
    expect(calls).toEqual({ replicas: 2, backupAt: 2 })
    expect(new Set(pages.map(({ frames }) => frames.at(-1))).size).toBe(1)
    expect(new Set(pages.map(({ total }) => total()))).toEqual(new Set([140]))
    for (const leave of leaving) leave()
    await second()
    expect(store.asked.length).toBe(20)
  })

  it('serves who joins later from memory, without reading', async () => {
    const { hub, store, deliver, second } = setUp()
    hub.join(page().reader)
    deliver(9)
    await second()
    const late = page()
    hub.join(late.reader)
    expect([late.total(), store.asked.length]).toEqual([9, 1])
    deliver(2)
    await second()
    expect([late.total(), store.asked.length]).toEqual([11, 2])
  })

  it('lets a reader that comes back begin again, with nothing counted twice and nothing read for it', async () => {
    const { hub, store, deliver, second, refuse } = setUp()
    hub.join(page().reader)
    deliver(5)
    await second()
    const one = page()
    const leave = hub.join(one.reader)
    leave()
    deliver(4)
    refuse('X')
    await second()
    hub.join(one.reader)
    expect(one.last()).toMatchObject({ Since: SECOND - 898, Skipped: 0 })
    expect([one.total(), one.refusals(), one.frames.length, store.asked.length]).toEqual([9, 1, 2, 2])
    deliver(3)
    await second()
    expect(one.last()).not.toHaveProperty('Since')
    expect([one.total(), one.refusals()]).toEqual([12, 1])
  })

  it('begins with what was refused in the last 15 minutes, also while nobody looked on', async () => {
    const { hub, clock, second, refuse } = setUp()
    refuse('X')
    await second()
    clock.time += 800_000
    refuse('X')
    refuse('Y')
    await second()
    const one = page()
    hub.join(one.reader)
    await hub.tick()
    const refused = [1, 802].map((at) => ({ At: SECOND + at, ByStatus: [0, 0, 0, 0], Duplicates: 0 }))
    expect(one.last()).toMatchObject({
      RefusedSince: SECOND,
      Seconds: [
        { ...refused[0], Refusals: { X: 1 } },
        { ...refused[1], Refusals: { X: 1, Y: 1 } },
      ],
    })
    clock.time += 200_000
    await hub.tick()
    const late = page()
    hub.join(late.reader)
    expect(late.last()).toMatchObject({ RefusedSince: SECOND + 102, Seconds: [{ At: SECOND + 802 }] })
  })

  it('counts nothing twice that was refused, or came in late, before the deliveries are complete', async () => {
    const { hub, store, clock, deliver, second, refuse } = setUp()
    const one = page()
    hub.join(one.reader)
    refuse('X')
    deliver(1)
    await second()
    clock.time += 60_000
    store.beginsAt(clock.time)
    store.rows.push({ position: 300_000, receivedAt: clock.time, status: 1 })
    await second()
    deliver(1, 1, START)
    await second()
    expect([one.total(), one.refusals()]).toEqual([3, 1])
    const late = page()
    hub.join(late.reader)
    expect([late.last()?.Since, late.last()?.RefusedSince]).toEqual([SECOND + 61, SECOND])
    expect([late.total(), late.refusals()]).toEqual([1, 1])
    // It comes back, and has everything already.
    hub.join(one.reader)
    expect([one.total(), one.refusals()]).toEqual([3, 1])
  })

  it('goes on with StoreUp false while the store fails, says so once, and loses nothing', async () => {
    const { hub, store, log, deliver, second } = setUp()
    store.fail(new Error('no store'))
    const early = page()
    hub.join(early.reader)
    await second()
    expect(early.frames).toMatchObject([{ StoreUp: false, Seconds: [] }])
    expect(early.last()).not.toHaveProperty('Since')
    store.fail(undefined)
    await second()
    expect(early.last()).toMatchObject({ StoreUp: true, Since: SECOND - 898 })
    store.fail(new Error('again'))
    deliver(4)
    await second()
    await second()
    expect(early.last()).toMatchObject({ StoreUp: false, Seconds: [], Queue: { Deliveries: 3 } })
    store.fail(undefined)
    await second()
    expect([early.total(), early.last()?.StoreUp]).toEqual([4, true])
    expect(log).toEqual(['lost: no store', 'back', 'lost: again', 'back'])
  })

  it('goes on with StoreUp false while the store does not answer', async () => {
    const { hub, store, clock, log, deliver } = setUp()
    const one = page()
    hub.join(one.reader)
    await hub.tick()
    const release = store.hold()
    deliver(2)
    const first = hub.tick()
    for (let number = 0; number < 4; number++) {
      clock.time += 1000
      void hub.tick()
      await new Promise(setImmediate)
    }
    expect(one.frames.map(({ StoreUp }) => StoreUp)).toEqual([true, false, false, false])
    expect(store.asked.length).toBe(2)
    release()
    await first
    expect([one.total(), one.last()?.StoreUp]).toEqual([2, true])
    expect(log).toEqual(['lost: the store takes too long to answer', 'back'])
  })

  it('shows a reader whose token has ended no other delivery', async () => {
    const { hub, accounts, deliver, second } = setUp()
    const [kept, revoked] = [page(), page()]
    hub.join(kept.reader)
    const leave = hub.join(revoked.reader)
    await second()
    deliver(1)
    accounts.endRevoked = async () => leave()
    await second()
    expect([kept.total(), revoked.total()]).toEqual([1, 0])
    expect(hub.readers()).toBe(1)
  })

  it('sends nothing new while it cannot be known whether a token was revoked', async () => {
    const { hub, accounts, deliver, second } = setUp()
    const one = page()
    hub.join(one.reader)
    await second()
    deliver(1)
    accounts.version++
    accounts.endRevoked = () => Promise.reject(new Error('no store'))
    await second()
    expect([hub.readers(), one.total(), one.last()?.StoreUp]).toEqual([1, 0, false])
    accounts.endRevoked = async () => undefined
    await second()
    expect([one.total(), one.last()?.StoreUp]).toEqual([1, true])
  })

  it('shows nobody a delivery again after an account changed, since it may have been erased', async () => {
    const { hub, accounts, deliver, second } = setUp()
    hub.join(page().reader)
    deliver(2)
    await second()
    accounts.version++
    await second()
    const late = page()
    hub.join(late.reader)
    expect(late.last()).toMatchObject({ Newest: [], Skipped: 2 })
  })

  it('the sum of frames is what was delivered and refused, however often readers are cut or slow', async () => {
    const step = fc.record({
      deliveries: fc.integer({ min: 0, max: 300 }),
      refusals: fc.nat(3),
      late: fc.integer({ min: 0, max: 5000 }),
      fails: fc.nat(9).map((number) => number === 0),
      cut: fc.nat(4),
      slow: fc.nat(4),
      /** Whether those that were cut come back now. */
      back: fc.boolean(),
      pause: fc.constantFrom(0, 0, 0, 0, 3, 100, 2000),
    })
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40 }), async (steps) => {
        const { hub, store, clock, deliver, refuse, second } = setUp()
        const pages = [page(), page(), page()]
        const leaving = pages.map(({ reader }) => hub.join(reader))
        const away = new Set<number>()
        const comeBack = (): void => {
          for (const index of away) leaving[index] = hub.join(pages[index]?.reader as LiveReader)
          away.clear()
        }
        const refused: number[] = []
        for (const { deliveries, refusals, late, fails, cut, slow, back, pause } of steps) {
          deliver(deliveries, deliveries % 4, clock.time - late)
          for (let number = 0; number < refusals; number++) {
            refuse('X')
            refused.push(clock.time + 1000)
          }
          store.fail(fails ? new Error('no store') : undefined)
          if (pages[cut] !== undefined) {
            leaving[cut]?.()
            away.add(cut)
          }
          for (const [index, { state }] of pages.entries()) state.takes = index !== slow
          await second()
          clock.time += pause * 1000
          if (back) comeBack()
        }
        store.fail(undefined)
        for (const { state } of pages) state.takes = true
        comeBack()
        await second()
        await second()
        const oldest = Math.floor(clock.time / 1000) - 890
        const shown = (counts: Map<number, number>) =>
          totalOf(Iterator.from(counts).map(([at, count]) => (at >= oldest ? count : 0)))
        const expected = store.rows.filter(({ receivedAt }) => receivedAt >= oldest * 1000).length
        const expectedRefused = refused.filter((at) => at >= oldest * 1000).length
        for (const { counts, refused } of pages)
          expect([shown(counts), shown(refused)]).toEqual([expected, expectedRefused])
      }),
      { numRuns: 150 },
    )
  })
})
