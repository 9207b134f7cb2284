import type { DeliverySummary, KeptOrigin, Pulse, PulseSecond } from '#src/store/store.ts'

/** A delivery, and where it came from if that is known. */
interface NewDelivery extends DeliverySummary {
  readonly origin?: KeptOrigin | undefined
}

/** Deliveries and refusals since a certain moment. */
export interface Increment {
  readonly seconds: readonly PulseSecond[]
  /** The newest first. */
  readonly newest: readonly NewDelivery[]
  /** How many more deliveries there are. */
  readonly skipped: number
  /** By error code. */
  readonly refusals: Readonly<Record<string, number>>
}

/** An increment since long ago, which replaces what was counted before. */
export interface Beginning extends Increment {
  /** From this second since 1970 on the counts are complete. */
  readonly since: number
}

/** One step of the tally. */
interface Step {
  readonly number: number
  readonly position: number
  readonly deliveries: number
  readonly seconds: readonly PulseSecond[]
  readonly refusals: ReadonlyMap<string, number>
}

export const PERIOD_SECONDS = 15 * 60
export const MAX_NEWEST = 200

/**
 * Counts what comes in, step by step, one a second, and remembers the steps of 15 minutes, so that somebody who missed some gets exactly
 * those. Who is new gets the 15 minutes.
 */
export function createTally() {
  /** What is known up to the step before the first of `steps`. */
  let base = { number: 0, position: 0 }
  let steps: Step[] = []
  let seconds = new Map<number, PulseSecond>()
  let newest: readonly NewDelivery[] = []
  /** Seconds since 1970; undefined before the first pulse. */
  let since: number | undefined

  const last = (): { readonly number: number; readonly position: number } => steps.at(-1) ?? base

  const merge = (into: Map<number, PulseSecond>, added: readonly PulseSecond[]): void => {
    for (const each of added) {
      const known = into.get(each.second)
      into.set(each.second, known === undefined ? each : sum(known, each))
    }
  }

  const dropOlder = (now: number): void => {
    const oldest = Math.floor(now / 1000) - PERIOD_SECONDS
    for (const second of seconds.keys()) if (second < oldest) seconds.delete(second)
    if (since !== undefined) since = Math.max(since, oldest)
    const dropped = steps.length - PERIOD_SECONDS
    if (dropped <= 0) return
    base = steps[dropped - 1] ?? base
    steps = steps.slice(dropped)
  }

  return {
    position: (): number | undefined => (since === undefined ? undefined : last().position),
    /** The number of the last step. */
    number: (): number => last().number,

    /** Without a pulse only refusals are counted. */
    add(pulse: Pulse | undefined, refusals: ReadonlyMap<string, number>, now: number): void {
      if (pulse?.since !== undefined) {
        // Nobody can go on from what was before.
        base = { number: last().number + 1, position: pulse.position }
        steps = []
        seconds = new Map()
        newest = []
        since = pulse.since / 1000
        merge(seconds, pulse.seconds)
        newest = pulse.newest
        return
      }
      const { number, position } = last()
      steps.push({
        number: number + 1,
        position: pulse?.position ?? position,
        deliveries: pulse?.deliveries ?? 0,
        seconds: pulse?.seconds ?? [],
        refusals,
      })
      if (pulse !== undefined) {
        merge(seconds, pulse.seconds)
        if (pulse.newest.length > 0) newest = [...pulse.newest, ...newest].slice(0, MAX_NEWEST)
      }
      dropOlder(now)
    },

    /** The number of the last step that ended at a position; undefined if that is not known any more. */
    stepAt(position: number): number | undefined {
      if (since === undefined) return undefined
      const step = steps.findLast((each) => each.position === position) ?? base
      return step.position === position ? step.number : undefined
    },

    /** Everything after a step; undefined if that is not known any more. */
    after(number: number): Increment | undefined {
      if (since === undefined || number < base.number) return undefined
      const missed = steps.filter((step) => step.number > number)
      const from = steps.find((step) => step.number === number)?.position ?? base.position
      const counted = new Map<number, PulseSecond>()
      const refusals = new Map<string, number>()
      for (const step of missed) {
        merge(counted, step.seconds)
        for (const [code, count] of step.refusals) refusals.set(code, (refusals.get(code) ?? 0) + count)
      }
      const shown = newest.filter(({ position }) => position > from)
      const deliveries = missed.reduce((total, step) => total + step.deliveries, 0)
      return {
        seconds: inOrder(counted),
        newest: shown,
        skipped: deliveries - shown.length,
        refusals: Object.fromEntries(refusals),
      }
    },

    beginning(): Beginning | undefined {
      if (since === undefined) return undefined
      const counted = inOrder(seconds)
      const deliveries = counted.reduce((total, { byStatus }) => total + byStatus.reduce((one, two) => one + two, 0), 0)
      const from = since * 1000
      const shown = newest.filter(({ receivedAt }) => receivedAt >= from)
      return { since, seconds: counted, newest: shown, skipped: deliveries - shown.length, refusals: {} }
    },

    /** Shows no delivery again that is known by now: it may have been erased. */
    forgetNewest(): void {
      newest = []
    },
  }
}

const sum = (one: PulseSecond, other: PulseSecond): PulseSecond => ({
  second: one.second,
  byStatus: one.byStatus.map((count, status) => count + (other.byStatus[status] ?? 0)),
  duplicates: one.duplicates + other.duplicates,
})

const inOrder = (seconds: ReadonlyMap<number, PulseSecond>): PulseSecond[] =>
  [...seconds.values()].sort((one, other) => one.second - other.second)
