/** Returns a number from 0 up to, but not including, 1. */
export type Fraction = () => number

/** Both clocks at one moment: pauses are measured by the one that never jumps, times that are stored are those of the other. */
export interface Moment {
  /** Milliseconds since 1970. */
  readonly wall: number
  readonly monotonic: number
}

const SHORTEST_MILLISECONDS = 1000
export const LONGEST_PAUSE_MILLISECONDS = 3_600_000
export const LONGEST_TRIAL_PAUSE_MILLISECONDS = 300_000
/** Deliveries that waited for an endpoint become due within this time after it answers again. */
export const SOON_MILLISECONDS = 1000

/** The pause after a number of failures, at least one. Between a second and an hour, doubled by each failure. */
export const retryPause = (failures: number, fraction: Fraction): number =>
  grown(failures - 1, LONGEST_PAUSE_MILLISECONDS, fraction)

/** The pause before an endpoint in trouble is tried again, after a number of trials that failed. */
export const trialPause = (trials: number, fraction: Fraction): number =>
  grown(trials, LONGEST_TRIAL_PAUSE_MILLISECONDS, fraction)

function grown(doublings: number, longest: number, fraction: Fraction): number {
  const jitter = 0.8 + 0.4 * fraction()
  const pause = Math.min(SHORTEST_MILLISECONDS * 2 ** Math.max(doublings, 0), longest) * jitter
  return Math.round(Math.min(Math.max(pause, SHORTEST_MILLISECONDS), longest))
}
