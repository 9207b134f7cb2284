import type { DueDelivery, WaitingDelivery, Webhook } from '#src/store/store.ts'
import { afterFailure, createBreaker, deadlineOf, type Failure, type Fraction, type Moment } from './breaker.ts'
import { countAttempt, isEmpty, keepIn, noChanges, repeated, type Save, savedAs } from './changes.ts'
import { createLanes, createWindow, type Entry, entryOf, type Item, keptEntry, LIMITS } from './lanes.ts'

/** What the store has of an endpoint. */
export interface Start {
  readonly webhook: Pick<
    Webhook,
    'id' | 'version' | 'position' | 'waiting' | 'setAside' | 'giveUpMilliseconds' | 'silentUntil'
  >
  /** Positions after its place that are confirmed. */
  readonly confirmed: readonly number[]
}

/** A place that moved only over what is left out is saved this rarely. */
const RARELY_MILLISECONDS = 5000
/** Others, such as purges, may make lanes due. */
const OTHERS_MILLISECONDS = 10_000
const STALE_MILLISECONDS = 20
const NEVER = Number.POSITIVE_INFINITY

export type Queue = ReturnType<typeof createQueue>

/**
 * What is sent to an endpoint next, and what is stored. In memory are only the deliveries that were read just now, at most a window of
 * them, and some of those that are due again. All others that the endpoint has not taken are kept by the store. A lane is either in
 * memory or left to the store. Reads no clock and no store, so that tests can drive it through any order of events. Its own times are
 * those of the clock that never jumps.
 */
export function createQueue({ webhook, confirmed }: Start, fraction: Fraction, limits = LIMITS) {
  const { id, version, giveUpMilliseconds } = webhook
  const breaker = createBreaker(fraction, webhook.silentUntil !== null)
  const window = createWindow(webhook.position, confirmed)
  /** Lanes in memory of which the store has something that is or may be due. */
  const busy = new Set<number>()
  const lanes = createLanes(limits, (lane) => {
    if (busy.delete(lane)) mayBeDue(0)
  })
  let changes = noChanges()
  /** The number of the next save, and of the last one that was stored. */
  let number = 1
  let stored = 0
  /** The save by which a lane changes: a query that began before that was stored knows nothing of it. */
  const changedIn = new Map<number, number>()
  let savedPosition = webhook.position
  let savedAt = 0
  let notBefore = 0
  let isGone = false
  let asked = 0
  /** Whether the store may have deliveries that are set aside. */
  let hasAside = webhook.setAside > 0
  /** When the store may give lanes that are not in memory. Never only if there are none. */
  let dueAt = webhook.waiting > 0 ? 0 : NEVER

  const isStale = (lane: number, known: number): boolean => (changedIn.get(lane) ?? 0) > known

  const change = (entry: Entry, row: WaitingDelivery | null): void => {
    const { position, lane } = entry
    keepIn(changes.kept, position, { lane, row })
    changedIn.set(lane, number)
    entry.row = row ?? undefined
    entry.state = row === null ? 'settled' : 'kept'
  }

  /** Leaves a delivery that was not tried to the store, which gives it a time if it is the first of its lane. */
  const wait = (entry: Entry): void => {
    const { position, lane, row } = entry
    const untried = { failures: 0, firstFailedAt: null, nextAt: null, setAsideAt: null, lastError: null }
    if (row === undefined) change(entry, { position, lane, ...untried, answered: false })
  }

  const mayBeDue = (at: number): void => {
    dueAt = Math.min(dueAt, at)
  }

  const finish = (entry: Entry): void => {
    window.passed(entry.position)
    lanes.finish(entry)
  }

  const settle = (entry: Entry): void => {
    if (entry.row === undefined) entry.state = 'settled'
    else change(entry, null)
    finish(entry)
  }

  const isOver = (entry: Entry, wall: number): entry is Entry & { row: WaitingDelivery } =>
    entry.row !== undefined && wall >= deadlineOf(entry.row, giveUpMilliseconds, wall)

  const setAside = (entry: Entry, row: WaitingDelivery, wall: number): void => {
    hasAside = true
    change(entry, { ...row, nextAt: null, setAsideAt: wall })
    finish(entry)
  }

  const hasRoom = (): boolean => window.hasRoom(limits, lanes.isUnderWay)

  const mayBegin = (): boolean => !isGone && lanes.underWayCount() < (breaker.isOpen() ? 1 : limits.inFlight)

  /** Lanes that are due and for which there is room. A silent endpoint needs only one. */
  const room = (): number => (breaker.isOpen() ? 1 - lanes.readyCount() : limits.lanes - lanes.keptCount())

  const wantsDueAt = (): number => (room() > 0 && !isGone ? dueAt : NEVER)

  return {
    readTo: window.readTo,
    /** Nothing of what is lost may be in memory. */
    readFrom: window.readFrom,
    /** A silent endpoint that there is nothing else to try with is tried with what is new. */
    wantsPage: (): boolean =>
      !isGone && (!breaker.isOpen() || lanes.underWayCount() + lanes.readyCount() === 0) && hasRoom(),
    /** What a query that begins now knows. The methods that take its result take this, too. Only one may be under way. */
    stored: (): number => stored,
    /** Must be called after those methods. */
    known(at: number): void {
      for (const [lane, save] of changedIn) if (save <= at) changedIn.delete(lane)
    },
    /** Whether the store may keep something. */
    mayBeHeld: (): boolean => hasAside || dueAt < NEVER || changedIn.size > 0 || lanes.keptCount() > 0,

    /** Takes a page of the feed that ends at a position. `held` are those that cannot be sent before the store gives them. */
    read(items: readonly Item[], position: number, held: ReadonlySet<number>, known: number): void {
      for (const item of items) {
        const entry = entryOf(item)
        window.add(entry)
        const first = lanes.first(item.lane)
        if (window.isAhead(item.position)) entry.state = 'settled'
        else if (held.has(item.position) || isStale(item.lane, known) || first?.row) {
          // A replay may have added earlier ones of a lane that is in memory.
          if (first?.row === undefined) lanes.leave(item.lane, wait)
          wait(entry)
        } else if (first) lanes.append(entry)
        else lanes.add([entry])
      }
      window.wasReadTo(position)
    },

    /** When to ask the store for lanes that are due. */
    wantsDueAt,
    /** How many a query that begins now asks for: the store may give first what was sent and is not saved. */
    askDue(): number {
      dueAt = NEVER
      asked = Math.min(lanes.keptCount() + changedIn.size + room(), limits.asked)
      return asked
    },
    mayBeDue,
    /** Takes deliveries that are due, each followed by some that wait behind it. `nextAt` is when others are. */
    due(found: readonly DueDelivery[], nextAt: number | null, known: number, { wall, monotonic }: Moment): void {
      let wait = nextAt === null ? NEVER : nextAt - wall
      let taken = 0
      const byLane = Map.groupBy(found, ({ lane }) => lane)
      for (const [lane, rows] of byLane) {
        if (lanes.has(lane)) busy.add(lane)
        else if (isStale(lane, known)) continue
        else if (room() <= 0) wait = 0
        else {
          taken++
          lanes.add(rows.map(keptEntry) as [Entry, ...Entry[]])
        }
      }
      if (byLane.size >= asked) wait = 0
      // What is not saved yet is not asked for in vain again and again.
      if (taken === 0) wait = Math.max(wait, STALE_MILLISECONDS)
      if (found.length > 0 || wait < NEVER) mayBeDue(monotonic + Math.min(wait, OTHERS_MILLISECONDS))
    },
    /** Sets aside what is in memory and failed for too long; the store does so with the rest. */
    giveUp({ wall }: Moment): void {
      for (const entry of lanes.entries())
        if (isOver(entry, wall) && lanes.first(entry.lane) === entry && !lanes.isUnderWay(entry))
          setAside(entry, entry.row, wall)
    },
    /** The store has set something aside. */
    gaveUp(): void {
      hasAside = true
      mayBeDue(0)
    },

    /** Returns what is to be sent now. */
    next({ wall, monotonic }: Moment): Item | undefined {
      if (!mayBegin() || monotonic < notBefore || (breaker.isOpen() && monotonic < breaker.probeAt())) return undefined
      for (let entry = lanes.ready(breaker.isOpen()); entry; entry = lanes.ready(breaker.isOpen())) {
        if (!isOver(entry, wall)) {
          lanes.begin(entry, breaker.isOpen())
          return entry
        }
        setAside(entry, entry.row, wall)
      }
      return undefined
    },
    /** When something may be sent or asked for although nothing happens. */
    wakesAt(): number {
      const sends = mayBegin() && lanes.ready(breaker.isOpen()) !== undefined
      return Math.min(wantsDueAt(), sends ? Math.max(notBefore, breaker.isOpen() ? breaker.probeAt() : 0) : NEVER)
    },

    succeeded(sent: Item, { wall }: Moment, status: number, milliseconds: number): void {
      changes.confirmed.push({ position: sent.position, status, milliseconds })
      changes.lastSuccessAt = wall
      countAttempt(changes, wall, true, milliseconds)
      if (breaker.answered()) changes.hurry = true
      settle(sent as Entry)
    },
    /** Returns whether the delivery was set aside. */
    failed(sent: Item, failure: Failure, now: Moment): boolean {
      const entry = sent as Entry
      const { position, lane, receiptId } = entry
      const { status, error, milliseconds, response } = failure
      const { row, answered, asked, isOver } = afterFailure(entry, failure, giveUpMilliseconds, now.wall, fraction)
      countAttempt(changes, now.wall, false, milliseconds)
      if (answered) changes.hurry ||= breaker.answered()
      else breaker.silent(lane, now, entry.wasProbe)
      if (status === 429 || status === 503) notBefore = Math.max(notBefore, now.monotonic + asked)
      // Only once: an operator may have resumed it when the other attempts under way end.
      if (failure.gone && !isGone) changes.gone = isGone = true
      const nextAt = isOver ? null : row.nextAt
      changes.attempts.push({ at: now.wall, position, receiptId, status, error, milliseconds, response, nextAt })
      if (isOver) setAside(entry, row, now.wall)
      else {
        change(entry, row)
        lanes.postpone(entry)
        lanes.leave(lane, wait)
      }
      return isOver
    },
    /** It could not be sent for a reason that is not the endpoint's. */
    postpone(sent: Item, until: number): void {
      lanes.postpone(sent as Entry)
      notBefore = Math.max(notBefore, until)
    },
    /** It was purged before it was sent. */
    purged: (sent: Item): void => settle(sent as Entry),

    /** Leaves to the store what holds the place, if that is all slow, so that what follows can be read. */
    makeRoom(): void {
      if (!mayBegin() || breaker.isOpen() || lanes.readyCount() > 0 || window.entries().length === 0 || hasRoom())
        return
      for (const { state, lane } of window.entries()) if (state === 'open') lanes.leave(lane, wait)
    },

    /** Returns what is to be stored now; undefined if that has time. */
    take({ wall, monotonic }: Moment, everything = false): Save | undefined {
      const position = window.place()
      const isTime = everything || monotonic - savedAt >= RARELY_MILLISECONDS
      if (isEmpty(changes) && !(position !== savedPosition && isTime)) return undefined
      const silentUntil = breaker.isOpen() ? Math.round(wall + breaker.probeAt() - monotonic) : null
      const save = { number: number++, changes, stored: { id, position, silentUntil, ...savedAs(changes, version) } }
      changes = noChanges()
      savedPosition = position
      savedAt = monotonic
      return save
    },
    wasStored(save: Save, { wall, monotonic }: Moment): void {
      stored = save.number
      if (save.changes.hurry) mayBeDue(0)
      for (const { lane, row } of save.changes.kept.values()) {
        if (lanes.has(lane)) busy.add(lane)
        else mayBeDue(row?.nextAt ? monotonic + Math.min(row.nextAt - wall, OTHERS_MILLISECONDS) : 0)
      }
    },
    /** It may not be stored; the next save contains it. */
    putBack(save: Save): void {
      changes = repeated(save.changes, changes)
      savedPosition = -1
      for (const { lane } of save.changes.kept.values()) changedIn.set(lane, number)
    },

    isSilent: breaker.isOpen,
    inFlight: lanes.underWayCount,
    /** Deliveries in memory that the store does not keep. */
    open: (): Item[] => lanes.entries().filter(({ row }) => row === undefined),
    inMemory: (): number => window.entries().length + lanes.entries().length,
  }
}
