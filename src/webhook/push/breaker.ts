import { type Laned, MAX_PAUSE_MILLISECONDS, type WaitingDelivery } from '#src/store/store.ts'
import type { Outcome } from '../send/outcome.ts'

/** Returns a number from 0 up to, but not including, 1. */
export type Fraction = () => number

/** Both clocks at one moment: pauses in memory are measured by the one that never jumps, times that are stored are those of the other. */
export interface Moment {
  /** Milliseconds since 1970. */
  readonly wall: number
  readonly monotonic: number
}

export type Failure = Outcome & { readonly error: string }

const MIN_MILLISECONDS = 1000
const MAX_SILENT_MILLISECONDS = 300_000
/** An attempt takes no longer. */
const ATTEMPT_MILLISECONDS = 15_000
/** Fewer silent orders may be the fault of their deliveries. */
const ENOUGH_SILENT = 8
/** From proxies and overloaded servers: nobody has looked at the delivery. */
const NO_ANSWERS = new Set([408, 425, 429, 502, 503, 504])

/** Between a second and a limit, doubled by each failure. */
function pauseAfter(failures: number, answered: boolean, fraction: Fraction): number {
  const longest = answered ? MAX_PAUSE_MILLISECONDS : MAX_SILENT_MILLISECONDS
  const pause = Math.min(MIN_MILLISECONDS * 2 ** (failures - 1), longest) * (0.8 + 0.4 * fraction())
  return Math.round(Math.min(Math.max(pause, MIN_MILLISECONDS), longest))
}

/** When a delivery is set aside; infinite for never. */
export const deadlineOf = (
  row: WaitingDelivery | undefined,
  giveUpMilliseconds: number | null,
  wall: number,
): number =>
  giveUpMilliseconds === null ? Number.POSITIVE_INFINITY : (row?.firstFailedAt ?? wall) + giveUpMilliseconds

/** How a delivery waits that failed. */
export function afterFailure(
  { position, lane, row }: Laned & { readonly row: WaitingDelivery | undefined },
  { status, error, retryAfterMilliseconds }: Failure,
  giveUpMilliseconds: number | null,
  wall: number,
  fraction: Fraction,
) {
  // The endpoint has answered, whatever it said: then it is alive.
  const answered = status !== null && !NO_ANSWERS.has(status)
  const asked = Math.min(retryAfterMilliseconds ?? 0, MAX_PAUSE_MILLISECONDS)
  const failures = (row?.failures ?? 0) + 1
  const firstFailedAt = row?.firstFailedAt ?? wall
  const latest = deadlineOf(row, giveUpMilliseconds, wall)
  const due = wall + Math.max(pauseAfter(failures, answered, fraction), asked)
  // What was not answered in time would perhaps not be before the end, either.
  const nextAt = Math.round(due > latest - (answered ? 0 : ATTEMPT_MILLISECONDS) ? latest : due)
  const after = { position, lane, failures, firstFailedAt, nextAt, setAsideAt: null, lastError: error, answered }
  return { row: after, answered, asked, isOver: wall >= latest }
}

/** Opens when an endpoint stops answering: it then gets one request at a time, after growing pauses, until it answers. */
export function createBreaker(fraction: Fraction, wasSilent: boolean) {
  const silent = new Set<number>()
  let probes = wasSilent ? 1 : 0
  let probeAt = 0
  return {
    isOpen: (): boolean => probes > 0,
    /** When the next request may begin; 0 while it answers. */
    probeAt: (): number => probeAt,
    /** Returns whether the endpoint was silent before. */
    answered(): boolean {
      const wasOpen = probes > 0
      silent.clear()
      probes = probeAt = 0
      return wasOpen
    },
    silent(lane: number, { monotonic }: Moment, wasProbe: boolean): void {
      if (probes > 0 ? !wasProbe : silent.add(lane).size < ENOUGH_SILENT) return
      probes++
      probeAt = monotonic + pauseAfter(probes, false, fraction)
    },
  }
}
