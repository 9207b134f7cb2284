import { expect } from 'vitest'
import type { DeliverySummary, WaitingDelivery, WebhookSave } from '#src/store/store.ts'
import { laneOf, type NewEntry, type Pushed } from '#src/webhook/push/entry.ts'
import type { Limits } from '#src/webhook/push/limits.ts'
import { createProgress, type Progress } from '#src/webhook/push/progress.ts'

/** What comes in: the orders and which deliveries the endpoint wants. */
export interface Arrival {
  readonly order: number | null
  readonly wanted: boolean
}

export const START = 1_900_000_000_000
const placeAt = (position: number) => ({ position, generation: 0 })

const summary = (position: number, order: number | null): DeliverySummary => ({
  receiptId: `receipt-${position}`,
  customerId: 'c',
  orderId: order === null ? null : `o${order}`,
  status: 1,
  receivedAt: START + position,
  duplicate: false,
  position,
  erased: false,
  payloadBytes: 1,
})

/** A store, a feed and an endpoint around the real state machine: every step checks what must never happen. */
export function createWorld(limits: Limits, giveUpMilliseconds: number | null) {
  const feed: (DeliverySummary & { readonly wanted: boolean })[] = []
  const stored = {
    place: { position: 0, generation: 0 },
    confirmed: new Set<number>(),
    waiting: new Map<number, WaitingDelivery>(),
    lastSuccessAt: null as number | null,
    failingSince: null as number | null,
  }
  const succeeded = new Set<number>()
  const setAside = new Set<number>()
  /** Those of this process, or stored by one before. */
  const confirmed = new Set<number>()
  let inFlight: Pushed[] = []
  let unsaved: WebhookSave | undefined
  let now = 0
  let fractions = 0
  const fraction = (): number => ((fractions++ * 7919) % 1000) / 1000
  const moment = () => ({ wall: START + now, monotonic: now })
  const isDone = (position: number): boolean => succeeded.has(position) || setAside.has(position)
  const entryOf = ({ position, receiptId, receivedAt, ...rest }: DeliverySummary): NewEntry => ({
    position,
    receiptId,
    receivedAt,
    lane: laneOf({ ...rest, position, receiptId, receivedAt }),
  })

  const load = (): Progress =>
    createProgress(
      {
        id: 'w',
        epoch: 1,
        place: stored.place,
        confirmed: [...stored.confirmed],
        waiting: [...stored.waiting.values()]
          .filter(({ setAsideAt }) => setAsideAt === null)
          .sort((one, other) => one.position - other.position)
          .map((row) => ({ ...row, ...entryOf(feed[row.position - 1] as DeliverySummary) })),
        giveUpMilliseconds,
        lastSuccessAt: stored.lastSuccessAt,
        failingSince: stored.failingSince,
      },
      fraction,
      moment(),
      limits,
    )
  let progress = load()

  /** Whether the store knows that a delivery needs no further attempt. */
  const isKnown = (position: number): boolean =>
    stored.waiting.get(position) !== undefined
      ? stored.waiting.get(position)?.setAsideAt !== null
      : position <= stored.place.position || stored.confirmed.has(position)

  const check = (sent: Pushed): void => {
    const delivery = feed[sent.position - 1] as DeliverySummary & { wanted: boolean }
    const lane = laneOf(delivery)
    expect(delivery.wanted, 'what is left out is not sent').toBe(true)
    expect(isKnown(sent.position), 'what the store has as confirmed is not sent again').toBe(false)
    expect(
      inFlight.some((other) => other.lane === lane),
      'one delivery of an order at a time',
    ).toBe(false)
    expect(inFlight.length).toBeLessThan(limits.inFlight)
    const before = feed.filter((each) => each.wanted && each.position < sent.position && laneOf(each) === lane)
    expect(
      before.filter(({ position }) => !isDone(position)).map(({ position }) => position),
      'in order',
    ).toEqual([])
  }

  const apply = (save: WebhookSave): void => {
    stored.place = save.place
    stored.confirmed = new Set(save.confirmed)
    for (const row of save.waiting) stored.waiting.set(row.position, row)
    for (const position of save.settled) stored.waiting.delete(position)
    stored.lastSuccessAt = save.lastSuccessAt
    stored.failingSince = save.failingSince
    for (const { position, wanted } of feed) {
      if (!wanted || !isKnown(position)) continue
      expect(isDone(position), `${position} is neither confirmed nor waits`).toBe(true)
    }
    for (const position of confirmed) expect(isKnown(position), `${position} is confirmed and stored`).toBe(true)
    expect(save.confirmed.length).toBeLessThanOrEqual(limits.window + limits.waiting)
    expect(save.confirmed).toEqual([...save.confirmed].sort((one, other) => one - other))
    expect(save.confirmed.every((position) => position > save.place.position)).toBe(true)
  }

  const world = {
    progress: () => progress,
    stored,
    feed,
    inFlight: () => inFlight.length,
    now: () => now,
    isComplete: (): boolean => feed.every(({ position, wanted }) => !wanted || isDone(position)),
    setAside,
    arrive(arrivals: readonly Arrival[]): void {
      for (const { order, wanted } of arrivals) feed.push({ ...summary(feed.length + 1, order), wanted })
    },
    read(): boolean {
      if (!progress.wantsMore()) return false
      const from = progress.place().position
      const page = feed.slice(from, from + limits.page)
      if (page.length === 0) return false
      const end = placeAt(from + page.length)
      progress.read(page.filter(({ wanted }) => wanted).map(entryOf), { place: end, placeAt })
      return true
    },
    send(): boolean {
      const sent = progress.next(moment())
      if (sent === undefined) return false
      check(sent)
      inFlight.push(sent)
      return true
    },
    end(
      index: number,
      failure: { readonly status: number | null; readonly retryAfter: number | null } | 'none' | 'store',
    ): boolean {
      const sent = inFlight[index % Math.max(inFlight.length, 1)]
      if (sent === undefined) return false
      inFlight = inFlight.filter((each) => each !== sent)
      if (failure === 'none') {
        succeeded.add(sent.position)
        confirmed.add(sent.position)
        progress.succeeded(sent, moment(), 3)
      } else if (failure === 'store') progress.postpone(sent, now + 1000)
      else {
        const { status, retryAfter: retryAfterMilliseconds } = failure
        const outcome = { status, error: 'x', retryAfterMilliseconds, gone: false, milliseconds: 2.5, response: null }
        if (progress.failed(sent, outcome, moment())) setAside.add(sent.position)
      }
      return true
    },
    makeRoom: (): boolean => progress.makeRoom(),
    save(outcome: 'stored' | 'lost' | 'stored, but nobody knows'): void {
      unsaved = progress.takeSave(moment(), true)
      if (unsaved === undefined) return
      if (outcome !== 'lost') apply(unsaved)
      if (outcome !== 'stored') progress.putBack(unsaved)
    },
    restart(): void {
      inFlight = []
      // What was set aside, but not stored, is tried again.
      setAside.clear()
      for (const row of stored.waiting.values()) if (row.setAsideAt !== null) setAside.add(row.position)
      confirmed.clear()
      for (const position of succeeded) if (isKnown(position)) confirmed.add(position)
      progress = load()
    },
    advance(milliseconds: number): void {
      now += milliseconds
    },
    /** Lets everything succeed until there is nothing left to do. */
    heal(): void {
      const isDone = (): boolean => progress.pending() === 0 && progress.place().position === feed.length
      for (let rounds = 0; !isDone(); rounds++) {
        expect(rounds, 'comes to an end').toBeLessThan(20 * feed.length + 1000)
        const did = [world.read(), world.send(), world.end(0, 'none'), world.makeRoom()].some(Boolean)
        if (rounds % 5 === 0) world.save('stored')
        if (did) continue
        const at = progress.nextAt()
        expect(at, 'something is still to come').toBeDefined()
        now = Math.max(now, at ?? 0)
      }
      expect(world.isComplete()).toBe(true)
    },
  }
  return world
}
