/** Returns a number from 0 up to, but not including, 1. */
export type Fraction = () => number

/** Both clocks at one moment: pauses in memory are measured by the one that never jumps, times that are stored are those of the other. */
export interface Moment {
  /** Milliseconds since 1970. */
  readonly wall: number
  readonly monotonic: number
}

const SHORTEST_MILLISECONDS = 1000
const LONGEST_REFUSED_MILLISECONDS = 3_600_000
/** What an endpoint may ask for by Retry-After. */
export const MAX_ASKED_MILLISECONDS = LONGEST_REFUSED_MILLISECONDS
const LONGEST_SILENT_MILLISECONDS = 300_000
/** Fewer silent orders may be the fault of their deliveries. */
const ENOUGH_SILENT = 8
/** From proxies and overloaded servers: nobody has looked at the delivery. */
const NO_ANSWERS = new Set([408, 425, 429, 502, 503, 504])

/** Whether the endpoint has answered, whatever it said: then it is alive. */
export const isAnswer = (status: number | null): boolean => status !== null && !NO_ANSWERS.has(status)

/** Between a second and a limit, doubled by each failure. */
export function pauseAfter(failures: number, answered: boolean, fraction: Fraction): number {
  const longest = answered ? LONGEST_REFUSED_MILLISECONDS : LONGEST_SILENT_MILLISECONDS
  const pause = Math.min(SHORTEST_MILLISECONDS * 2 ** (failures - 1), longest) * (0.8 + 0.4 * fraction())
  return Math.round(Math.min(Math.max(pause, SHORTEST_MILLISECONDS), longest))
}

/** Opens when an endpoint stops answering: it then gets one request at a time, after growing pauses, until it answers. */
export function createBreaker(fraction: Fraction) {
  const silent = new Set<number>()
  let probes = 0
  let probeAt = 0
  return {
    isOpen: (): boolean => probes > 0,
    probeAt: (): number => probeAt,
    /** Returns whether the endpoint was silent before. */
    answered(): boolean {
      const wasOpen = probes > 0
      silent.clear()
      probes = 0
      return wasOpen
    },
    silent(lane: number, { monotonic }: Moment, wasProbe: boolean): void {
      if (probes > 0 ? !wasProbe : silent.add(lane).size < ENOUGH_SILENT) return
      probes++
      probeAt = monotonic + pauseAfter(probes, false, fraction)
    },
  }
}
