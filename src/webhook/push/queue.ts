import type { DueDelivery, LoadedWebhook, WaitingDelivery, Webhook } from '#src/store/store.ts'
import { afterFailure, createBreaker, deadlineOf, type Failure, type Fraction, type Moment } from './breaker.ts'
import { countAttempt, createChanges, type Save } from './changes.ts'
import { createLanes, createWindow, type Entry, entryOf, type Item, keptEntry, LIMITS, untried } from './lanes.ts'

/** Of an endpoint as it is loaded. */
type Start = Pick<LoadedWebhook, 'confirmed'> & {
  readonly webhook: Pick<
    Webhook,
    'id' | 'version' | 'position' | 'waiting' | 'setAside' | 'giveUpMilliseconds' | 'silentUntil'
  >
}

/** A place that moved only over what is left out is saved this rarely. */
const RARELY_MILLISECONDS = 5000
/** Others, such as purges, may make lanes due. */
const OTHERS_MILLISECONDS = 10_000
const STALE_MILLISECONDS = 20
const NEVER = Number.POSITIVE_INFINITY

/**
 * What is sent to an endpoint next, and what is stored. In memory are only the deliveries that were read just now, at most a window of
 * them, and some of those that are due again. All others that the endpoint has not taken are kept by the store. A lane is either in
 * memory or left to the store. Reads no clock and no store, so that tests can drive it through any order of events. Its own times are
 * those of the clock that never jumps.
 */
export function createQueue({ webhook, confirmed }: Start, fraction: Fraction, limits = LIMITS) {
  const { giveUpMilliseconds } = webhook
  const breaker = createBreaker(fraction, webhook.silentUntil !== null)
  const window = createWindow(webhook.position, confirmed)
  /** Lanes in memory of which the store has something that is or may be due. */
  const busy = new Set<number>()
  const lanes = createLanes(limits, (lane) => {
    if (busy.delete(lane)) mayBeDue(0)
  })
  const changes = createChanges(webhook.id, webhook.version)
  let savedPosition = webhook.position
  let savedAt = 0
  let notBefore = 0
  let isGone = false
  /** Whether the store may have deliveries after the place that are set aside. */
  let hasAside = webhook.setAside > 0
  /** When the store may give lanes that are not in memory. Never only if there are none. */
  let dueAt = webhook.waiting > 0 ? 0 : NEVER

  const change = (entry: Entry, row: WaitingDelivery | null): void => {
    changes.keep(entry, row)
    entry.row = row ?? undefined
    entry.state = row === null ? 'settled' : 'kept'
  }

  /** Leaves a delivery that was not tried to the store, which gives it a time if it is the first of its lane. */
  const wait = (entry: Entry): void => {
    if (entry.row === undefined) change(entry, untried(entry))
  }

  const mayBeDue = (at: number): void => {
    dueAt = Math.min(dueAt, at)
  }

  /** Takes a delivery out of memory: it waits no longer, unless there is a row for it, which is set aside. */
  const settle = (entry: Entry, row: WaitingDelivery | null = null): void => {
    if (row === null && entry.row === undefined) entry.state = 'settled'
    else change(entry, row)
    window.passed(entry.position)
    lanes.finish(entry)
  }

  const isOver = (entry: Entry, wall: number): entry is Entry & { row: WaitingDelivery } =>
    entry.row !== undefined && wall >= deadlineOf(entry.row, giveUpMilliseconds, wall)

  const setAside = (entry: Entry, row: WaitingDelivery, wall: number): void =>
    settle(entry, { ...row, nextAt: null, setAsideAt: wall })

  const hasRoom = (): boolean => window.hasRoom(limits, lanes.isUnderWay)

  const mayBegin = (): boolean => !isGone && lanes.underWayCount() < (breaker.isOpen() ? 1 : limits.inFlight)

  const sendsAt = (): number => Math.max(notBefore, breaker.probeAt())

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
    stored: changes.stored,
    /** Must be called after those methods. */
    known: changes.known,
    /** Whether the store may keep something. */
    mayBeHeld: (): boolean => hasAside || dueAt < NEVER || changes.changedLanes() > 0 || lanes.keptCount() > 0,

    /** Takes a page of the feed that ends at a position. `held` are those that cannot be sent before the store gives them. */
    read(items: readonly Item[], position: number, held: ReadonlySet<number>, known: number): void {
      for (const item of items) {
        const entry = entryOf(item)
        window.add(entry)
        const first = lanes.first(item.lane)
        if (window.isAhead(item.position)) entry.state = 'settled'
        else if (held.has(item.position) || changes.isStale(item.lane, known) || first?.row) {
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
      return Math.min(lanes.keptCount() + changes.changedLanes() + room(), limits.asked)
    },
    mayBeDue,
    /** Takes deliveries that are due, each followed by some that wait behind it. `nextAt` is when others are. */
    due(found: readonly DueDelivery[], nextAt: number | null, known: number, { wall, monotonic }: Moment): void {
      let wait = nextAt === null ? NEVER : nextAt - wall
      let taken = 0
      for (const [lane, rows] of Map.groupBy(found, ({ lane }) => lane)) {
        if (lanes.has(lane)) busy.add(lane)
        else if (changes.isStale(lane, known)) continue
        else if (room() <= 0) wait = 0
        else {
          taken++
          lanes.add(rows.map(keptEntry) as [Entry, ...Entry[]])
        }
      }
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
      if (!mayBegin() || monotonic < sendsAt()) return undefined
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
      return Math.min(wantsDueAt(), mayBegin() && lanes.ready(breaker.isOpen()) ? sendsAt() : NEVER)
    },

    succeeded(sent: Item, { wall }: Moment, status: number, milliseconds: number): void {
      const own = changes.sinceSave()
      own.confirmed.push({ position: sent.position, status, milliseconds })
      own.lastSuccessAt = wall
      countAttempt(own, wall, true, milliseconds)
      if (breaker.answered()) own.hurry = true
      settle(sent as Entry)
    },
    /** Returns whether the delivery was set aside. */
    failed(sent: Item, failure: Failure, now: Moment): boolean {
      const entry = sent as Entry
      const { position, lane, receiptId } = entry
      const { status, error, milliseconds, response } = failure
      const { row, answered, asked, isOver } = afterFailure(entry, failure, giveUpMilliseconds, now.wall, fraction)
      const own = changes.sinceSave()
      countAttempt(own, now.wall, false, milliseconds)
      if (!answered) breaker.silent(lane, now, entry.wasProbe)
      else if (breaker.answered()) own.hurry = true
      if (status === 429 || status === 503) notBefore = Math.max(notBefore, now.monotonic + asked)
      // Only once: an operator may have resumed it when the other attempts under way end.
      if (failure.gone && !isGone) own.gone = isGone = true
      const nextAt = isOver ? null : row.nextAt
      own.attempts.push({ at: now.wall, position, receiptId, status, error, milliseconds, response, nextAt })
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
      const isSlow = mayBegin() && !breaker.isOpen() && lanes.readyCount() === 0 && window.entries().length > 0
      if (!isSlow || hasRoom()) return
      for (const { state, lane } of window.entries()) if (state === 'open') lanes.leave(lane, wait)
    },

    /** Returns what is to be stored now; undefined if that has time. */
    take({ wall, monotonic }: Moment, everything = false): Save | undefined {
      const position = window.place()
      const isTime = everything || monotonic - savedAt >= RARELY_MILLISECONDS
      if (changes.isEmpty() && !(position !== savedPosition && isTime)) return undefined
      savedPosition = position
      savedAt = monotonic
      return changes.take(position, breaker.isOpen() ? Math.round(wall + breaker.probeAt() - monotonic) : null)
    },
    wasStored(save: Save, { wall, monotonic }: Moment): void {
      changes.wasStored(save)
      if (save.changes.hurry) mayBeDue(0)
      for (const { lane, row } of save.changes.kept.values()) {
        if (lanes.has(lane)) busy.add(lane)
        else mayBeDue(row?.nextAt ? monotonic + Math.min(row.nextAt - wall, OTHERS_MILLISECONDS) : 0)
      }
    },
    /** It may not be stored; the next save contains it. */
    putBack(save: Save): void {
      changes.putBack(save)
      savedPosition = -1
    },

    isSilent: breaker.isOpen,
    inFlight: lanes.underWayCount,
    /** Deliveries in memory that the store does not keep. */
    open: (): Item[] => lanes.entries().filter(({ row }) => row === undefined),
    inMemory: (): number => window.entries().length + lanes.entries().length,
  }
}
