import { expect } from 'vitest'
import { type DueDelivery, MAX_PAUSE_MILLISECONDS, type WaitingDelivery } from '#src/store/store.ts'
import type { Failure } from '#src/webhook/push/breaker.ts'
import type { Save } from '#src/webhook/push/changes.ts'
import type { Item, LIMITS } from '#src/webhook/push/lanes.ts'
import { createQueue } from '#src/webhook/push/queue.ts'

export interface Arrival {
  /** Null for a delivery without an order id. */
  readonly order: number | null
  readonly wanted: boolean
}

interface Delivery extends Item {
  readonly wanted: boolean
}

/** What was asked of the store and is not answered yet. */
type Asked =
  | { readonly what: 'due'; readonly known: number; readonly found: DueDelivery[]; readonly nextAt: number | null }
  | { readonly what: 'page'; readonly known: number; readonly items: Item[]; readonly end: number; held: Set<number> }

export const START = 1_900_000_000_000
const ROWS_OF_LANE = 3

export const failure = (status: number | null, retryAfterMilliseconds: number | null = null): Failure => ({
  status,
  error: `status ${status}`,
  retryAfterMilliseconds,
  gone: false,
  milliseconds: 2,
  response: null,
})

/**
 * A feed, a store and the queue of one endpoint between them. Whatever a process asks of the store, and whatever it saves, takes its time.
 * Fails if a delivery is sent out of order, twice at once or again for no reason, and if the store forgets one.
 */
export function createWorld(limits: typeof LIMITS, giveUpMilliseconds: number | null) {
  const feed: Delivery[] = []
  const stored = {
    position: 0,
    version: 1,
    silentUntil: null as number | null,
    journal: new Set<number>(),
    rows: new Map<number, WaitingDelivery>(),
  }
  const succeeded = new Set<number>()
  const setAside = new Set<number>()
  /** Deliveries that a replay has added and that were not sent again yet. */
  const again = new Set<number>()
  const firstFailedAt = new Map<number, number>()
  /** The save that has a confirmation of this process at the latest. */
  const confirmedIn = new Map<number, number>()
  let underWay: Item[] = []
  let asked: Asked | undefined
  let saving: { readonly save: Save; readonly isApplied: boolean } | undefined
  /** A command of another process has added rows: this one begins again. */
  let isChanged = false
  let now = 0
  /** When the clock of the wall began. */
  let began = START
  let fractions = 0

  const moment = () => ({ wall: began + now, monotonic: now })
  const wall = (): number => began + now
  const fraction = (): number => ((fractions++ * 7919) % 1000) / 1000
  const waiting = (lane?: number): WaitingDelivery[] =>
    [...stored.rows.values()]
      .filter((row) => row.setAsideAt === null && (lane === undefined || row.lane === lane))
      .sort((one, other) => one.position - other.position)
  const load = () => {
    const setAsides = stored.rows.size - waiting().length
    const confirmed = [...stored.journal].filter((position) => position > stored.position)
    const counts = { waiting: waiting().length, setAside: setAsides }
    const webhook = { id: 'id', version: stored.version, position: stored.position, ...counts, giveUpMilliseconds }
    return createQueue({ webhook: { ...webhook, silentUntil: stored.silentUntil }, confirmed }, fraction, limits)
  }
  let queue = load()

  const isOver = (position: number): boolean =>
    giveUpMilliseconds !== null && wall() >= (firstFailedAt.get(position) ?? Infinity) + giveUpMilliseconds
  const isDone = (position: number): boolean => succeeded.has(position) || setAside.has(position) || isOver(position)

  const check = (sent: Item): void => {
    const { position, lane } = sent
    expect(feed[position - 1]?.wanted).toBe(true)
    if (!again.has(position)) {
      expect(stored.journal.has(position) && !stored.rows.has(position), `${position} is stored as confirmed`).toBe(
        false,
      )
      expect(confirmedIn.has(position), `${position} was confirmed by this process`).toBe(false)
    }
    expect(isOver(position), `${position} was given up`).toBe(false)
    expect(
      underWay.some((other) => other.lane === lane),
      'one of an order at a time',
    ).toBe(false)
    expect(underWay.length).toBeLessThan(limits.inFlight)
    const before = feed.filter((each) => each.wanted && each.position < position && each.lane === lane)
    expect(before.filter((each) => !isDone(each.position)).map((each) => each.position)).toEqual([])
  }

  /** Gives the first of each lane a time. */
  const promote = (lanes: Iterable<number>): void => {
    for (const lane of new Set(lanes)) {
      const [first] = waiting(lane)
      if (first?.nextAt === null) stored.rows.set(first.position, { ...first, nextAt: wall() })
    }
  }

  /** Returns whether it was stored. */
  const apply = (save: Save): boolean => {
    const { position, silentUntil, confirmed, kept, settled, hurry, ifVersion } = save.stored
    if (ifVersion !== null && ifVersion !== stored.version) return false
    stored.position = position
    stored.silentUntil = silentUntil
    for (const each of confirmed) stored.journal.add(each.position)
    for (const row of kept) {
      expect(row.setAsideAt === null || row.nextAt === null).toBe(true)
      if (row.failures > 0 || !stored.rows.has(row.position)) stored.rows.set(row.position, row)
      if (row.setAsideAt !== null) setAside.add(row.position)
    }
    for (const each of settled) stored.rows.delete(each.position)
    promote([...kept, ...settled].map(({ lane }) => lane))
    for (const row of hurry ? waiting() : []) {
      if (row.answered || (row.nextAt ?? 0) <= wall() + 1000) continue
      stored.rows.set(row.position, { ...row, nextAt: wall() + 1 + (row.position % 1000) })
    }
    for (const each of feed.slice(0, stored.position)) {
      if (!each.wanted) continue
      expect(stored.journal.has(each.position) || stored.rows.has(each.position), `${each.position} is lost`).toBe(true)
    }
    for (const each of stored.journal) expect(succeeded.has(each)).toBe(true)
    for (const [each, save_] of confirmedIn) if (save_ <= save.number) expect(stored.journal.has(each)).toBe(true)
    for (const { lane } of waiting()) expect(waiting(lane)[0]?.nextAt).not.toBeNull()
    return true
  }

  const change = (): void => {
    stored.version++
    isChanged = true
  }

  const question = (after?: Asked['what']): Asked | undefined => {
    const known = after === undefined ? queue.stored() : (asked?.known ?? 0)
    if (after !== 'due' && queue.wantsDueAt() <= now) {
      const most = queue.askDue()
      const firsts = waiting().filter((row) => row.nextAt !== null && waiting(row.lane)[0] === row)
      firsts.sort((one, other) => (one.nextAt ?? 0) - (other.nextAt ?? 0))
      const isDue = ({ nextAt }: WaitingDelivery): boolean =>
        (nextAt ?? 0) <= wall() || (nextAt ?? 0) > wall() + MAX_PAUSE_MILLISECONDS
      const due = firsts.slice(0, most).filter(isDue)
      const found = due
        .flatMap(({ lane }) => waiting(lane).slice(0, ROWS_OF_LANE))
        .map((row) => ({ ...row, receiptId: `r${row.position}`, receivedAt: START }))
      return { what: 'due', known, found, nextAt: firsts.find((row) => !due.includes(row))?.nextAt ?? null }
    }
    if (!queue.wantsPage()) return undefined
    const from = queue.readTo()
    const page = feed.slice(from, from + limits.page)
    const items = page.filter(({ wanted }) => wanted).map(({ wanted: _, ...item }) => item)
    const isHeld = ({ position, lane }: Item): boolean => stored.rows.has(position) || waiting(lane).length > 0
    const held = items.filter((item) => queue.mayBeHeld() && isHeld(item)).map(({ position }) => position)
    return page.length === 0 ? undefined : { what: 'page', known, items, end: from + page.length, held: new Set(held) }
  }

  const answer = (): void => {
    if (asked?.what === 'due') queue.due(asked.found, asked.nextAt, asked.known, moment())
    else if (asked) queue.read(asked.items, asked.end, asked.held, asked.known)
  }

  const world = {
    stored,
    setAside,
    inFlight: () => underWay.length,
    wall,
    underWay: () => underWay.map(({ position }) => position),
    arrive(arrivals: readonly Arrival[]): void {
      for (const { order, wanted } of arrivals) {
        const position = feed.length + 1
        const lane = order ?? -position
        feed.push({ position, lane, receiptId: `r${position}`, receivedAt: START, bytes: 10, wanted })
      }
    },
    /** One step of asking the store: the answers of one round know the same. Returns whether there was something to do. */
    ask(): boolean {
      if (asked === undefined) {
        asked = question()
        return asked !== undefined
      }
      answer()
      const { what, known } = asked
      asked = question(what)
      if (asked === undefined) queue.known(known)
      return true
    },
    send(): boolean {
      const sent = queue.next(moment())
      if (sent === undefined) return false
      check(sent)
      underWay.push(sent)
      return true
    },
    end(index: number, how: Failure | 'taken' | 'no payload'): boolean {
      const sent = underWay[index % Math.max(underWay.length, 1)]
      if (sent === undefined) return false
      const { position } = sent
      underWay = underWay.filter((other) => other !== sent)
      if (how === 'taken') {
        succeeded.add(position)
        again.delete(position)
        confirmedIn.set(position, saves() + 1)
        queue.succeeded(sent, moment(), 200, 3)
      } else if (how === 'no payload') queue.postpone(sent, now + 1000)
      else {
        if (!firstFailedAt.has(position)) firstFailedAt.set(position, wall())
        if (queue.failed(sent, how, moment())) setAside.add(position)
      }
      return true
    },
    makeRoom: (): void => queue.makeRoom(),
    /** The store gives up what failed for too long, also what is under way. */
    giveUp(): void {
      if (giveUpMilliseconds === null || !queue.mayBeHeld()) return
      queue.giveUp(moment())
      const over = waiting().filter(({ firstFailedAt }) => (firstFailedAt ?? Infinity) <= wall() - giveUpMilliseconds)
      for (const row of over) stored.rows.set(row.position, { ...row, nextAt: null, setAsideAt: wall() })
      for (const { position } of over) if (!succeeded.has(position)) setAside.add(position)
      promote(over.map(({ lane }) => lane))
      if (over.length > 0) queue.gaveUp()
    },
    beginSave(isApplied: boolean): Save | undefined {
      if (saving) return undefined
      const save = queue.take(moment(), true)
      if (save === undefined) return undefined
      taken = save.number
      saving = { save, isApplied }
      if (isApplied && !apply(save)) world.restart()
      return save
    },
    endSave(outcome: 'stored' | 'lost' | 'unknown'): void {
      if (!saving) return
      const { save, isApplied } = saving
      saving = undefined
      if (!isApplied && outcome !== 'lost' && !apply(save)) {
        // The process loads the endpoint again.
        world.restart()
        return
      }
      if (outcome === 'stored') {
        queue.wasStored(save, moment())
        return
      }
      queue.putBack(save)
      for (const [position, number] of confirmedIn) if (number === save.number) confirmedIn.set(position, number + 1)
    },
    /** A replay adds deliveries up to the place that is stored: of this process, or of a command. */
    replay(which: number, isOwn: boolean): void {
      const added = feed.filter(
        ({ position, wanted }) =>
          wanted && position <= stored.position && position % 4 === which && !stored.rows.has(position),
      )
      for (const { position, lane } of added) {
        const untried = { failures: 0, firstFailedAt: null, nextAt: null, setAsideAt: null, lastError: null }
        stored.rows.set(position, { position, lane, ...untried, answered: false })
        again.add(position)
      }
      promote(added.map(({ lane }) => lane))
      if (isOwn) queue.mayBeDue(0)
      else change()
    },
    /** A command sends everything again that was set aside. */
    replaySetAside(): void {
      for (const row of stored.rows.values()) {
        if (row.setAsideAt === null) continue
        const untried = { failures: 0, firstFailedAt: null, nextAt: null, setAsideAt: null, lastError: null }
        stored.rows.set(row.position, { ...row, ...untried })
        again.add(row.position)
        firstFailedAt.delete(row.position)
      }
      promote([...stored.rows.values()].map(({ lane }) => lane))
      change()
    },
    restart(): void {
      underWay = []
      asked = undefined
      saving = undefined
      taken = 0
      isChanged = false
      confirmedIn.clear()
      firstFailedAt.clear()
      setAside.clear()
      for (const row of stored.rows.values()) {
        if (row.setAsideAt !== null) setAside.add(row.position)
        else if (row.firstFailedAt !== null) firstFailedAt.set(row.position, row.firstFailedAt)
      }
      queue = load()
    },
    /** Sets the clock of the wall ahead, or back. */
    setClock(by: number): void {
      began += by
    },
    advance(milliseconds: number): void {
      now += milliseconds
    },
    /** Lets everything succeed until nothing is left, and the clock go where nothing happens otherwise. */
    heal(): void {
      world.endSave('stored')
      world.beginSave(false)
      world.endSave('stored')
      if (isChanged) world.restart()
      for (let rounds = 0; ; rounds++) {
        expect(rounds, 'comes to an end').toBeLessThan(40 * feed.length + 3000)
        while (world.send());
        const hasEnded = world.end(0, 'taken')
        world.makeRoom()
        world.giveUp()
        world.beginSave(false)
        world.endSave('stored')
        if (world.ask() || hasEnded) continue
        const next = queue.wakesAt()
        if (next === Infinity) break
        now = Math.max(now + 1, next)
      }
      expect(feed.filter(({ position, wanted }) => wanted && !isDone(position))).toEqual([])
      expect(waiting()).toEqual([])
      expect([...again].filter((position) => !setAside.has(position))).toEqual([])
      expect(stored.position).toBe(feed.length)
      expect(queue.inMemory()).toBe(0)
    },
  }
  let taken = 0
  const saves = (): number => taken
  return world
}
