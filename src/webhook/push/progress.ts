import type { FeedPlace } from '#src/purchase/feed-place.ts'
import type { WebhookSave } from '#src/store/store.ts'
import { createBacklog } from './backlog.ts'
import {
  type Entry,
  type Failure,
  type NewEntry,
  NO_ATTEMPT,
  newEntry,
  type Pushed,
  rowOf,
  type Start,
  waitingEntry,
} from './entry.ts'
import { createHealth } from './health.ts'
import { createLedger, type Entries } from './ledger.ts'
import { LIMITS } from './limits.ts'
import { type Fraction, LONGEST_PAUSE_MILLISECONDS, type Moment, retryPause, SOON_MILLISECONDS } from './pauses.ts'
import { createPushWindow, type ReadPage, type Slot } from './window.ts'

/** A place that moved only over what is left out is saved this rarely. */
const RARELY_MILLISECONDS = 5000
/** After so many failures a delivery waits so long that it should profit from the first success of others. */
const MANY_FAILURES = 4

export type Progress = ReturnType<typeof createProgress>

/**
 * Decides what is sent to an endpoint next, and what is stored. It reads no clock and no store, so that tests can drive it through
 * any order of events. Whatever is lost between two saves is sent again, and nothing is skipped.
 */
export function createProgress(start: Start, fraction: Fraction, began: Moment, limits = LIMITS) {
  const window = createPushWindow(start.place)
  const ledger = createLedger()
  const backlog = createBacklog(start.confirmed, ledger)
  const { lanes } = backlog
  const health = createHealth(
    {
      lastSuccessAt: start.lastSuccessAt,
      failingSince: start.failingSince,
      failing:
        start.failingSince === null
          ? []
          : start.waiting.filter(({ failures }) => failures > 0).map(({ position }) => position),
    },
    fraction,
  )
  let notBefore = 0
  let gone = false
  let isGoneStored = false
  let touched = false
  let savedPlace = start.place
  let savedAt = began.monotonic

  const settle = (entry: Entry): void => {
    backlog.settle(entry)
    touched = true
  }

  /** Makes deliveries due soon, with short pauses from then on. */
  const hurry = ({ wall, monotonic }: Moment, which: (entry: Entry) => boolean): void =>
    lanes.reschedule((entry) => {
      if (entry.failures === 0 || !which(entry)) return undefined
      const wait = Math.max(fraction() * SOON_MILLISECONDS, entry.notBefore - monotonic)
      entry.level = 0
      entry.nextAt = Math.round(wall + wait)
      ledger.keep(rowOf(entry, null))
      return monotonic + wait
    })

  const hasRoom = (): boolean => window.size() <= limits.window - limits.page

  const nextAt = (): number | undefined => {
    if (gone || lanes.inFlight() >= (health.inTrouble() ? 1 : limits.inFlight)) return undefined
    const due = health.inTrouble() ? lanes.nextTrialAt() : lanes.nextDueAt()
    return due === undefined ? undefined : Math.max(due, notBefore, health.inTrouble() ? health.trialAt() : 0)
  }

  for (const row of start.waiting) {
    const entry = waitingEntry(row)
    const pause = Math.min(Math.max((row.nextAt ?? 0) - began.wall, 0), LONGEST_PAUSE_MILLISECONDS)
    backlog.add(entry, pause === 0 ? 0 : began.monotonic + pause)
    if (row.position > start.place.position) backlog.addAhead(entry)
  }

  return {
    /** Adds a page of the feed: the deliveries that the endpoint wants, and up to where it goes. */
    read(items: readonly NewEntry[], page: ReadPage): void {
      const slots = items.map((item): Slot => {
        const { position } = item
        const known = backlog.knownSlot(position)
        if (known !== undefined) return known
        const slot: Slot = { position, state: 'open' }
        const entry = newEntry(item, slot)
        backlog.add(entry, 0)
        const first = lanes.first(entry)
        // While everything fails the place had better wait than one row for each delivery.
        if (first !== entry && first.failures > 0 && !health.inTrouble()) backlog.makeAllBehindWait(first)
        return slot
      })
      window.append(slots, page)
      backlog.wasReadTo(page.place.position)
    },
    place: () => window.readTo(),
    /** Goes on after deliveries that were purged before they were read. */
    skipPurged(place: FeedPlace, attempt: { readonly at: number; readonly error: string }): void {
      window.readFrom(place)
      ledger.attempt({ ...NO_ATTEMPT, ...attempt })
    },
    /** Goes on from another place, because what was read after it is lost. */
    readFrom: window.readFrom,
    wantsMore: (): boolean => !gone && hasRoom() && backlog.waiting() < limits.waiting,

    /** Returns what is to be sent now, if anything is. */
    next(now: Moment): Pushed | undefined {
      const at = nextAt()
      if (at === undefined || at > now.monotonic) return undefined
      const wasTrial = health.inTrouble()
      const entry = wasTrial ? lanes.takeForTrial(now.monotonic) : lanes.take(now.monotonic)
      if (entry) entry.wasTrial = wasTrial
      return entry
    },
    /** When `next` returns something again if nothing else happens; undefined for never. */
    nextAt,
    /**
     * Lets the place move on if only slow deliveries hold it, so that what follows can be read: they wait in the store then. Returns
     * whether there were any.
     */
    makeRoom(): boolean {
      const idle = lanes.nextDueAt() !== 0 && lanes.inFlight() < limits.inFlight && !health.inTrouble()
      if (!idle || hasRoom() || backlog.waiting() >= limits.waiting) return false
      for (const entry of lanes.entries()) if (entry.slot?.state === 'open') backlog.makeWaiting(entry)
      touched = true
      return true
    },

    succeeded(sent: Pushed, now: Moment, milliseconds: number): void {
      const entry = sent as Entry
      ledger.count(now.wall, true, Math.round(milliseconds))
      settle(entry)
      const { wasInTrouble, lastSuccessAt } = health.succeeded(now)
      const since = lastSuccessAt ?? 0
      if (wasInTrouble) hurry(now, () => true)
      else if (backlog.failing() > 0 && now.wall - since > MANY_FAILURES * 1000) {
        hurry(now, ({ level, firstFailedAt }) => level >= MANY_FAILURES && (firstFailedAt ?? 0) > since)
      }
    },

    /** Returns whether the delivery was set aside. */
    failed(sent: Pushed, failure: Failure, now: Moment): boolean {
      const entry = sent as Entry
      const { status, error, response } = failure
      const milliseconds = Math.round(failure.milliseconds)
      backlog.countFailure(entry)
      entry.firstFailedAt ??= now.wall
      entry.lastError = error
      touched = true
      ledger.count(now.wall, false, milliseconds)
      health.failed(entry.position, now, entry.wasTrial)
      const asked = Math.min(failure.retryAfterMilliseconds ?? 0, LONGEST_PAUSE_MILLISECONDS)
      entry.notBefore = now.monotonic + asked
      if (status === 429 || status === 503) notBefore = Math.max(notBefore, entry.notBefore)
      const pause = Math.max(retryPause(entry.level, fraction), asked)
      const isSetAside = start.giveUpMilliseconds !== null && now.wall - entry.firstFailedAt > start.giveUpMilliseconds
      entry.nextAt = isSetAside ? null : Math.round(now.wall + pause)
      const { position, receiptId } = entry
      ledger.attempt({ at: now.wall, position, receiptId, status, error, milliseconds, response, nextAt: entry.nextAt })
      gone ||= failure.gone
      if (isSetAside) {
        backlog.setAside(entry, now.wall)
        return true
      }
      backlog.makeWaiting(entry)
      backlog.makeAllBehindWait(entry)
      lanes.pause(entry, now.monotonic + pause)
      return false
    },

    /** A delivery could not be sent for a reason that is not the endpoint's. */
    postpone(sent: Pushed, until: number): void {
      const entry = sent as Entry
      entry.triedAt = entry.failures > 0 ? entry.triedAt : undefined
      if (entry.wasTrial) health.postpone(until)
      lanes.pause(entry, until)
    },
    /** A delivery was purged before it was sent. */
    purged(sent: Pushed, attempt: { readonly at: number; readonly error: string }): void {
      const { position, receiptId } = sent
      ledger.attempt({ ...NO_ATTEMPT, position, receiptId, ...attempt })
      settle(sent as Entry)
    },
    /** The same for deliveries that were purged before this process began. */
    forget(positions: readonly number[], attempt: { readonly at: number; readonly error: string }): void {
      for (const position of positions) {
        ledger.attempt({ ...NO_ATTEMPT, position, ...attempt })
        ledger.settle(position)
      }
    },

    /** Returns what is to be stored now; undefined if that has time. */
    takeSave(now: Moment, everything = false): WebhookSave | undefined {
      const place = window.place()
      const moved = place.position !== savedPlace.position || place.generation !== savedPlace.generation
      const isTime = everything || now.monotonic - savedAt >= RARELY_MILLISECONDS
      if (!touched && ledger.isEmpty() && !(moved && isTime)) return undefined
      const { id, epoch } = start
      const next = nextAt()
      const nextTryAt =
        backlog.failing() === 0 ? null : Math.round(now.wall + Math.max((next ?? now.monotonic) - now.monotonic, 0))
      const newlyGone = gone && !isGoneStored
      isGoneStored = gone
      touched = false
      savedPlace = place
      savedAt = now.monotonic
      return {
        id,
        epoch,
        place,
        confirmed: [...window.settled(), ...backlog.settledAhead()],
        ...ledger.take(),
        lastSuccessAt: health.lastSuccessAt(),
        failingSince: health.failingSince(),
        nextTryAt,
        // Only once: an operator may have resumed the endpoint since.
        gone: newlyGone,
      }
    },
    /** The save was not stored; the next one contains it. */
    putBack(save: Entries & Pick<WebhookSave, 'gone'>): void {
      touched = true
      if (save.gone) isGoneStored = false
      ledger.putBack(save)
    },

    isGone: () => gone,
    inTrouble: health.inTrouble,
    failingSince: health.failingSince,
    inFlight: lanes.inFlight,
    /** Deliveries that were read, or wait, and are not confirmed. */
    pending: backlog.size,
    waiting: backlog.waiting,
    /** When the oldest of them was received; undefined without any. */
    oldestAt: backlog.oldestAt,
  }
}
