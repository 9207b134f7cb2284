import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createLiveHub, type LiveFrame, type LiveReader } from '#src/console/live/hub.ts'
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
    hold() {
      const { promise, resolve } = Promise.withResolvers<void>()
      held = promise
      return () => {
        held = undefined
        resolve()
      }
    },
    async pulse(after: number | undefined, { from, look, newest, until }: PulseBounds): Promise<Pulse> {
      asked.push(after)
      await held
      if (fault) throw fault
      const last = Math.min(rows.at(-1)?.position ?? 0, until ?? Number.POSITIVE_INFINITY)
      const continues = after !== undefined && after <= last && last - after <= look
      const wanted = rows.filter(({ position, receivedAt }) =>
        continues ? position > after && position <= last : position <= last && receivedAt >= from,
      )
      const seconds = Map.groupBy(
        wanted.filter(({ receivedAt }) => receivedAt >= from),
        ({ receivedAt }) => Math.floor(receivedAt / 1000),
      )
      return {
        position: last,
        since: continues ? undefined : Math.ceil(from / 1000) * 1000,
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
    // What readers catch up with ends after the tick.
    await new Promise(setImmediate)
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
  const frames: LiveFrame[] = []
  const state: { takes: boolean } = { takes: true }
  let id: string | undefined
  const reader: LiveReader = {
    operator: 'one',
    offer(frame) {
      if (!state.takes) return false
      frames.push(frame)
      id = frame.id ?? id
      const { Since: since, Seconds: seconds } = frame.answer
      if (since !== undefined) for (const at of counts.keys()) if (at >= since) counts.delete(at)
      for (const { At, ByStatus } of seconds)
        counts.set(At, (counts.get(At) ?? 0) + ByStatus.reduce((one, two) => one + two, 0))
      return true
    },
  }
  const total = (): number => [...counts.values()].reduce((one, two) => one + two, 0)
  const last = () => frames.at(-1)?.answer
  return { reader, frames, state, counts, total, last, position: () => (id === undefined ? undefined : Number(id)) }
}

describe('the live hub', () => {
  it('begins with the last 15 minutes, and then counts what is new, second by second', async () => {
    const { hub, deliver, second, refuse } = setUp()
    deliver(2, 0, START - 901_000)
    deliver(3, 2, START - 1500)
    const one = page()
    hub.join(one.reader, undefined)
    await second()
    expect(one.frames[0]).toEqual({
      id: '5',
      answer: {
        At: new Date(START + 1000).toISOString(),
        Since: SECOND - 899,
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
        })),
        Skipped: 0,
        Latency: { P50Ms: 1, P99Ms: 2 },
        Queue: { Deliveries: 3, Bytes: 400 },
        Refusals: {},
        Replicas: 1,
        Store: 'sqlite',
        StoreUp: true,
        BackupAt: new Date(START - 5000).toISOString(),
        Consoles: 1,
      },
    })
    deliver(250, 3)
    refuse('PRODUCT_NOT_AUTHORIZED')
    await second()
    expect(one.last()).toMatchObject({
      Seconds: [{ At: SECOND + 1, ByStatus: [0, 0, 0, 250], Duplicates: 0 }],
      Skipped: 50,
      Refusals: { PRODUCT_NOT_AUTHORIZED: 1 },
    })
    expect(one.last()).not.toHaveProperty('Since')
    expect(
      one
        .last()
        ?.Newest.map(({ ReceiptID }) => ReceiptID)
        .slice(0, 2),
    ).toEqual(['r255', 'r254'])
    await second()
    expect(one.last()).toMatchObject({ Seconds: [], Newest: [], Skipped: 0, Refusals: {} })
  })

  it('reads the store once a second for 100 readers, which get the same frame, and not at all for none', async () => {
    const { hub, store, accounts, calls, deliver, second } = setUp()
    await second()
    expect([store.asked, accounts.asked]).toEqual([[], 0])
    const pages = Array.from({ length: 100 }, page)
    const leaving = pages.map(({ reader }) => hub.join(reader, undefined))
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
    hub.join(page().reader, undefined)
    deliver(9)
    await second()
    const late = page()
    hub.join(late.reader, undefined)
    expect([late.total(), late.position(), store.asked.length]).toEqual([9, 9, 1])
    deliver(2)
    await second()
    expect([late.total(), store.asked.length]).toEqual([11, 2])
  })

  it('gives a reader that comes back exactly what it missed, and one from another process too', async () => {
    const { hub, store, deliver, second, refuse } = setUp()
    hub.join(page().reader, undefined)
    deliver(5)
    await second()
    const one = page()
    const leave = hub.join(one.reader, undefined)
    leave()
    deliver(4)
    refuse('X')
    await second()
    hub.join(one.reader, one.position())
    expect(one.last()).toMatchObject({ Refusals: { X: 1 }, Skipped: 0 })
    expect([one.total(), one.frames.length, store.asked.length]).toEqual([9, 2, 2])
    const other = page()
    // The next frame counts these.
    deliver(3)
    hub.join(other.reader, 7)
    await new Promise(setImmediate)
    expect([other.total(), other.position(), store.asked]).toEqual([2, 9, [undefined, 5, 7]])
    expect(other.last()).not.toHaveProperty('Since')
    await second()
    expect([one.total(), other.total()]).toEqual([12, 5])
  })

  it('does not repeat refusals to a reader that comes back while nothing was delivered', async () => {
    const { hub, deliver, second, refuse } = setUp()
    hub.join(page().reader, undefined)
    const one = page()
    const leave = hub.join(one.reader, undefined)
    deliver(1)
    await second()
    await second()
    refuse('X')
    await second()
    expect(one.last()?.Refusals).toEqual({ X: 1 })
    leave()
    hub.join(one.reader, one.position())
    expect(one.last()?.Refusals).toEqual({})
  })

  it('begins again for a position that the store does not have, or that lies too far back', async () => {
    const { hub, store, deliver, second } = setUp()
    hub.join(page().reader, undefined)
    deliver(5)
    await second()
    const ahead = page()
    hub.join(ahead.reader, 99)
    expect([ahead.total(), ahead.last()?.Since]).toEqual([5, SECOND - 899])
    store.rows.push({ position: 300_000, receivedAt: START, status: 1 })
    await second()
    const behind = page()
    const reads = store.asked.length
    hub.join(behind.reader, 2)
    await new Promise(setImmediate)
    expect(store.asked.length).toBe(reads)
    expect([behind.total(), behind.last()?.Since]).toEqual([6, SECOND - 898])
    expect(ahead.total()).toBe(6)
  })

  it('reads for one position at a time, whoever names how many, and for nobody who has left', async () => {
    const { hub, store, deliver, second } = setUp()
    hub.join(page().reader, undefined)
    deliver(9)
    await second()
    const release = store.hold()
    const pages = [1, 2, 3, 4, 2].map((position) => {
      const one = page()
      return { ...one, leave: hub.join(one.reader, position) }
    })
    await new Promise(setImmediate)
    expect(store.asked).toEqual([undefined, 1])
    for (const { leave } of pages.slice(2, 4)) leave()
    release()
    await expect.poll(() => pages.map(({ total }) => total())).toEqual([8, 7, 0, 0, 7])
    await new Promise(setImmediate)
    expect(store.asked).toEqual([undefined, 1, 2])
    deliver(1)
    await second()
    expect(pages.map(({ total }) => total())).toEqual([9, 8, 0, 0, 8])
  })

  it('does not wait for a reader that takes nothing: it gets all it missed at once, or ends', async () => {
    const { hub, deliver, second } = setUp()
    const [slow, quick] = [page(), page()]
    hub.join(slow.reader, undefined)
    hub.join(quick.reader, undefined)
    await second()
    slow.state.takes = false
    for (let number = 0; number < 5; number++) {
      deliver(3)
      await second()
    }
    expect([slow.total(), quick.total(), slow.frames.length]).toEqual([0, 15, 1])
    slow.state.takes = true
    deliver(1)
    await second()
    expect([slow.total(), quick.total(), slow.frames.length]).toEqual([16, 16, 2])
  })

  it('goes on with StoreUp false while the store fails, says so once, and loses nothing', async () => {
    const { hub, store, log, deliver, second } = setUp()
    store.fail(new Error('no store'))
    const early = page()
    hub.join(early.reader, undefined)
    await second()
    expect(early.frames).toMatchObject([{ id: undefined, answer: { StoreUp: false, Seconds: [] } }])
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
    hub.join(one.reader, undefined)
    await hub.tick()
    const release = store.hold()
    deliver(2)
    const first = hub.tick()
    for (let number = 0; number < 4; number++) {
      clock.time += 1000
      void hub.tick()
      await new Promise(setImmediate)
    }
    expect(one.frames.map(({ answer }) => answer.StoreUp)).toEqual([true, false, false, false])
    expect(store.asked.length).toBe(2)
    release()
    await first
    expect([one.total(), one.last()?.StoreUp]).toEqual([2, true])
    expect(log).toEqual(['lost: the store takes too long to answer', 'back'])
  })

  it('shows a reader whose token has ended no other delivery', async () => {
    const { hub, accounts, deliver, second } = setUp()
    const [kept, revoked] = [page(), page()]
    hub.join(kept.reader, undefined)
    const leave = hub.join(revoked.reader, undefined)
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
    hub.join(one.reader, undefined)
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
    hub.join(page().reader, undefined)
    deliver(2)
    await second()
    accounts.version++
    await second()
    const late = page()
    hub.join(late.reader, undefined)
    expect(late.last()).toMatchObject({ Newest: [], Skipped: 2 })
  })

  it('the sum of frames is what was delivered, however often readers are cut, slow, or come from elsewhere', async () => {
    const step = fc.record({
      deliveries: fc.integer({ min: 0, max: 300 }),
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
        const { hub, store, clock, deliver, second } = setUp()
        const elsewhere = setUp()
        const pages = [page(), page(), page()]
        const leaving = pages.map(({ reader }) => hub.join(reader, undefined))
        const away = new Set<number>()
        for (const { deliveries, late, fails, cut, slow, back, pause } of steps) {
          deliver(deliveries, deliveries % 4, clock.time - late)
          store.fail(fails ? new Error('no store') : undefined)
          if (pages[cut] !== undefined) {
            leaving[cut]?.()
            away.add(cut)
          }
          for (const [index, { state }] of pages.entries()) state.takes = index !== slow
          await second()
          clock.time += pause * 1000
          if (back && !fails)
            for (const index of away) {
              away.delete(index)
              const { reader, position } = pages[index] as ReturnType<typeof page>
              leaving[index] = hub.join(reader, position())
            }
        }
        store.fail(undefined)
        for (const [index, { state, reader, position }] of pages.entries()) {
          state.takes = true
          if (away.has(index)) hub.join(reader, position())
        }
        await second()
        await second()
        const oldest = Math.floor(clock.time / 1000) - 890
        const expected = store.rows.filter(({ receivedAt }) => receivedAt >= oldest * 1000).length
        for (const { counts } of pages) {
          const seen = [...counts].filter(([at]) => at >= oldest).reduce((sum, [, count]) => sum + count, 0)
          expect(seen).toBe(expected)
        }
        // Another process knows none of its positions.
        elsewhere.store.rows.push(...store.rows)
        elsewhere.clock.time = clock.time
        elsewhere.deliver(2)
        elsewhere.hub.join(page().reader, undefined)
        await elsewhere.second()
        const [moved] = pages as [ReturnType<typeof page>]
        const before = moved.total()
        elsewhere.deliver(3)
        elsewhere.hub.join(moved.reader, moved.position())
        await elsewhere.second()
        await elsewhere.second()
        expect(moved.total()).toBe(before + 5)
      }),
      { numRuns: 150 },
    )
  })
})
