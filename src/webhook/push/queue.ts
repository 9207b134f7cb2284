import type { DueDelivery, Laned, WaitingDelivery } from '#src/store/store.ts'
import type { Outcome } from '../send/outcome.ts'
import { createBreaker, type Fraction, isAnswer, MAX_ASKED_MILLISECONDS, type Moment, pauseAfter } from './breaker.ts'
import { countAttempt, isEmpty, keepIn, noChanges, type Save, together } from './changes.ts'
import { createLanes, type Entry, entryOf, type Item, keptEntry, LIMITS } from './lanes.ts'
import { createWindow } from './window.ts'

export type Failure = Outcome & { readonly error: string }

export interface Start {
  readonly position: number
  /** Positions after it that are confirmed. */
  readonly confirmed: readonly number[]
  /** Whether the store keeps deliveries, and whether it has some that were set aside, which may lie after the position. */
  readonly waiting: number
  readonly setAside: number
  readonly giveUpMilliseconds: number | null
}

/** An attempt takes no longer. */
const ATTEMPT_MILLISECONDS = 15_000
/** A place that moved only over what is left out is saved this rarely. */
const RARELY_MILLISECONDS = 5000
/** Others, such as purges, may make lanes due. */
const OTHERS_MILLISECONDS = 10_000
const STALE_MILLISECONDS = 20

export type Queue = ReturnType<typeof createQueue>

/**
 * What is sent to an endpoint next, and what is stored. In memory are only the deliveries that were read just now, at most a window of
 * them, and some of those that are due again. All others that the endpoint has not taken are kept by the store. A lane is either in
 * memory or left to the store. Reads no clock and no store, so that tests can drive it through any order of events.
 */
export function createQueue(start: Start, fraction: Fraction, limits = LIMITS) {
  const { giveUpMilliseconds } = start
  const breaker = createBreaker(fraction)
  const window = createWindow(start)
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
  let savedPosition = start.position
  let savedAt = 0
  let notBefore = 0
  let isGone = false
  let asked = 0
  /** When the store may give lanes that are not in memory. Infinite only if there are none. */
  let dueAt = start.waiting > 0 ? 0 : Number.POSITIVE_INFINITY

  const isStale = (lane: number, known: number): boolean => (changedIn.get(lane) ?? 0) > known

  const keep = ({ position, lane }: Laned, row: WaitingDelivery | null): void => {
    keepIn(changes.kept, position, { lane, row })
    changedIn.set(lane, number)
  }

  const change = (entry: Entry, row: WaitingDelivery | null): void => {
    keep(entry, row)
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

  const deadline = (firstFailedAt: number): number =>
    giveUpMilliseconds === null ? Number.POSITIVE_INFINITY : firstFailedAt + giveUpMilliseconds
  const isOver = (row: WaitingDelivery | undefined, wall: number): boolean =>
    row !== undefined && row.firstFailedAt !== null && wall >= deadline(row.firstFailedAt)

  const setAside = (entry: Entry, row: WaitingDelivery, wall: number): void => {
    change(entry, { ...row, nextAt: null, setAsideAt: wall })
    finish(entry)
  }

  const hasRoom = (): boolean => window.hasRoom(limits, lanes.isUnderWay)

  const mayBegin = (): boolean => !isGone && lanes.underWayCount() < (breaker.isOpen() ? 1 : limits.inFlight)

  /** Lanes that are due and for which there is room. A silent endpoint needs only one. */
  const room = (): number => (breaker.isOpen() ? 1 - lanes.readyCount() : limits.lanes - lanes.keptCount())

  const mayBeHeld = (): boolean =>
    start.setAside > 0 || dueAt < Number.POSITIVE_INFINITY || changedIn.size > 0 || lanes.keptCount() > 0

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
    /** Whether the store may keep anything that `held` is about. */
    mayBeHeld,

    /** When to ask the store for lanes that are due; infinite for never. */
    wantsDueAt: (): number =>
      dueAt < Number.POSITIVE_INFINITY && room() > 0 && !isGone ? dueAt : Number.POSITIVE_INFINITY,
    /** How many a query that begins now asks for: the store may give first what was sent and is not saved. */
    askDue(): number {
      dueAt = Number.POSITIVE_INFINITY
      asked = Math.min(lanes.keptCount() + changedIn.size + room(), limits.asked)
      return asked
    },
    mayBeDue,
    /** Takes deliveries that are due, each followed by some that wait behind it. `nextAt` is when others are. */
    due(found: readonly DueDelivery[], nextAt: number | null, known: number, { wall }: Moment): void {
      let again = nextAt ?? Number.POSITIVE_INFINITY
      let taken = 0
      const byLane = Map.groupBy(found, ({ lane }) => lane)
      for (const [lane, rows] of byLane) {
        if (lanes.has(lane)) busy.add(lane)
        else if (!isStale(lane, known)) {
          if (room() <= 0) again = wall
          else {
            taken++
            lanes.add(rows.map(keptEntry) as [Entry, ...Entry[]])
          }
        }
      }
      if (byLane.size >= asked) again = Math.min(again, wall)
      // What is not saved yet is not asked for in vain again and again.
      if (taken === 0) again = Math.max(again, wall + STALE_MILLISECONDS)
      if (found.length > 0 || again < Number.POSITIVE_INFINITY) again = Math.min(again, wall + OTHERS_MILLISECONDS)
      mayBeDue(again)
    },

    /** What failed first at this time or before is to be set aside; undefined for nothing. */
    givesUpBefore: (wall: number): number | undefined =>
      giveUpMilliseconds === null || !mayBeHeld() ? undefined : wall - giveUpMilliseconds,
    /** Sets deliveries aside that failed for too long, but for those that are under way. */
    giveUp(rows: readonly WaitingDelivery[], known: number, { wall }: Moment): void {
      for (const row of rows) {
        const first = lanes.first(row.lane)
        if (isStale(row.lane, known) || !isOver(row, wall)) continue
        if (first === undefined) {
          keep(row, { ...row, nextAt: null, setAsideAt: wall })
          window.passed(row.position)
        } else if (first.position === row.position && !lanes.isUnderWay(first)) setAside(first, row, wall)
      }
    },

    /** Returns what is to be sent now. */
    next({ wall, monotonic }: Moment): Item | undefined {
      if (!mayBegin() || monotonic < notBefore || (breaker.isOpen() && monotonic < breaker.probeAt())) return undefined
      for (let entry = lanes.ready(breaker.isOpen()); entry; entry = lanes.ready(breaker.isOpen())) {
        if (!isOver(entry.row, wall)) {
          lanes.begin(entry, breaker.isOpen())
          return entry
        }
        setAside(entry, entry.row as WaitingDelivery, wall)
      }
      return undefined
    },
    /** When `next` may return something although nothing happens; undefined for never. On the clock that never jumps. */
    nextAt(): number | undefined {
      if (!mayBegin() || lanes.ready(breaker.isOpen()) === undefined) return undefined
      return Math.max(notBefore, breaker.isOpen() ? breaker.probeAt() : 0)
    },

    succeeded(sent: Item, { wall }: Moment, status: number, milliseconds: number): void {
      changes.confirmed.push({ position: sent.position, status, milliseconds })
      changes.lastSuccessAt = wall
      countAttempt(changes, wall, true, milliseconds)
      if (breaker.answered()) changes.hurry = true
      settle(sent as Entry)
    },
    /** Returns whether the delivery was set aside. */
    failed(sent: Item, { status, error, milliseconds, response, ...failure }: Failure, now: Moment): boolean {
      const entry = sent as Entry
      const { position, lane, receiptId } = entry
      const { wall, monotonic } = now
      const answered = isAnswer(status)
      countAttempt(changes, wall, false, milliseconds)
      if (answered) changes.hurry ||= breaker.answered()
      else breaker.silent(lane, now, entry.wasProbe)
      const asked = Math.min(failure.retryAfterMilliseconds ?? 0, MAX_ASKED_MILLISECONDS)
      if (status === 429 || status === 503) notBefore = Math.max(notBefore, monotonic + asked)
      if (failure.gone) changes.gone = isGone = true
      const failures = (entry.row?.failures ?? 0) + 1
      const firstFailedAt = entry.row?.firstFailedAt ?? wall
      const latest = deadline(firstFailedAt)
      const due = wall + Math.max(pauseAfter(failures, answered, fraction), asked)
      // What was not answered in time would perhaps not be before the end, either.
      const nextAt = Math.round(due > latest - (answered ? 0 : ATTEMPT_MILLISECONDS) ? latest : due)
      const row = { position, lane, failures, firstFailedAt, nextAt, setAsideAt: null, lastError: error, answered }
      const isSetAside = wall >= latest
      const attempt = { at: wall, position, receiptId, status, error, milliseconds, response }
      changes.attempts.push({ ...attempt, nextAt: isSetAside ? null : nextAt })
      if (isSetAside) setAside(entry, row, wall)
      else {
        change(entry, row)
        lanes.postpone(entry)
        lanes.leave(lane, wait)
      }
      return isSetAside
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
      const save = {
        number: number++,
        position,
        silentUntil: breaker.isOpen() ? Math.round(wall + breaker.probeAt() - monotonic) : null,
        changes,
      }
      changes = noChanges()
      savedPosition = position
      savedAt = monotonic
      return save
    },
    wasStored(save: Save): void {
      stored = save.number
      if (save.changes.hurry) mayBeDue(0)
      for (const { lane, row } of save.changes.kept.values()) {
        if (lanes.has(lane)) busy.add(lane)
        else mayBeDue(row?.setAsideAt === null ? (row.nextAt ?? 0) : 0)
      }
    },
    /** It may not be stored; the next save contains it. */
    putBack(save: Save): void {
      changes = together(save.changes, changes)
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
