import { type Fraction, type Moment, trialPause } from './pauses.ts'

/**
 * Whether an endpoint takes deliveries. It is in trouble once enough deliveries of different orders failed without a success between:
 * it then gets one request at a time, each after a longer pause, until one succeeds.
 */
export interface Health {
  inTrouble(): boolean
  /** When an endpoint in trouble may be tried. */
  trialAt(): number
  failed(position: number, now: Moment, wasTrial: boolean): void
  /** Returns how the endpoint was before. */
  succeeded(now: Moment): { readonly wasInTrouble: boolean; readonly lastSuccessAt: number | null }
  /** A trial came to nothing, for a reason that is not the endpoint's. */
  postpone(until: number): void
  lastSuccessAt(): number | null
  /** When the first of the failures since the last success happened. */
  failingSince(): number | null
}

/** Fewer may be the fault of the deliveries. */
const ENOUGH_FAILURES = 8

export interface KnownHealth {
  readonly lastSuccessAt: number | null
  readonly failingSince: number | null
  /** Positions of the deliveries that failed since the last success. */
  readonly failing: readonly number[]
}

export function createHealth(known: KnownHealth, fraction: Fraction): Health {
  let { lastSuccessAt, failingSince } = known
  const failing = new Set(known.failing)
  let trials: number | undefined = failing.size >= ENOUGH_FAILURES ? 0 : undefined
  let trialAt = 0

  return {
    inTrouble: () => trials !== undefined,
    trialAt: () => trialAt,
    failed(position, { wall, monotonic }, wasTrial) {
      failingSince ??= wall
      failing.add(position)
      if (trials === undefined && failing.size < ENOUGH_FAILURES) return
      if (trials !== undefined && !wasTrial) return
      trials = trials === undefined ? 0 : trials + 1
      trialAt = monotonic + trialPause(trials, fraction)
    },
    succeeded({ wall }) {
      const before = { wasInTrouble: trials !== undefined, lastSuccessAt }
      failing.clear()
      trials = undefined
      failingSince = null
      lastSuccessAt = wall
      return before
    },
    postpone(until) {
      trialAt = Math.max(trialAt, until)
    },
    lastSuccessAt: () => lastSuccessAt,
    failingSince: () => failingSince,
  }
}
