import type { DeliverySummary, KeptOrigin, Pulse, PulseSecond } from '#src/store/store.ts'

/** A delivery with where it came from, and what people call its customer, if that is known. */
export interface NewDelivery extends DeliverySummary {
  readonly origin?: KeptOrigin | undefined
  readonly customer?: string | undefined
}

export type NewPulse = Pulse & { readonly newest: readonly NewDelivery[] }

/** By error code. */
type Refusals = ReadonlyMap<string, number>

/** What came in and was refused within one second. */
export interface LiveSecond extends PulseSecond {
  readonly refusals: Refusals
}

/** Deliveries and refusals since the step before, or since a certain moment. */
export interface Counts {
  /** From this second since 1970 on the counts are complete, and replace what was counted before; undefined for a step. */
  readonly since: number | undefined
  /** From this second since 1970 on refusals are counted, in what begins. */
  readonly refusedSince?: number
  readonly seconds: readonly LiveSecond[]
  /** The newest first. */
  readonly newest: readonly NewDelivery[]
  /** How many more deliveries there are. */
  readonly skipped: number
}

export const PERIOD_SECONDS = 15 * 60
export const MAX_NEWEST = 200

const NOTHING: Omit<Pulse, 'position' | 'since'> = { deliveries: 0, seconds: [], newest: [] }
const NO_REFUSALS: Refusals = new Map()

/** Counts what comes in since `begunAt`, one step a second, and knows the last 15 minutes for who is new or has missed a step. */
export function createTally(begunAt: number) {
  /** Undefined before the first pulse. */
  let position: number | undefined
  let since = 0
  let refusedSince = Math.floor(begunAt / 1000)
  let newest: readonly NewDelivery[] = []
  const seconds = new Map<number, LiveSecond>()

  const addTo = (
    into: Map<number, LiveSecond>,
    { refusals = NO_REFUSALS, ...added }: PulseSecond & Partial<LiveSecond>,
  ) => into.set(added.second, sum(into.get(added.second), { ...added, refusals }))

  return {
    position: (): number | undefined => position,

    /** Without a pulse only refusals are counted. Returns the step; undefined if nobody can go on from what was before. */
    add(pulse: NewPulse | undefined, refusals: Refusals, now: number): Counts | undefined {
      const step = new Map<number, LiveSecond>()
      const { deliveries, ...counted } = pulse ?? NOTHING
      for (const each of counted.seconds) addTo(step, each)
      const second = Math.floor(now / 1000)
      if (refusals.size > 0) addTo(step, refusedOnly(second, refusals))
      const begins = pulse?.since !== undefined
      if (begins) {
        since = pulse.since / 1000
        newest = []
        for (const each of inOrder(seconds)) {
          seconds.delete(each.second)
          for (const refused of refusalsOf(each)) seconds.set(each.second, refused)
        }
      }
      for (const each of step.values()) addTo(seconds, each)
      position = pulse?.position ?? position
      newest = [...counted.newest, ...newest].slice(0, MAX_NEWEST)
      since = Math.max(since, second - PERIOD_SECONDS)
      refusedSince = Math.max(refusedSince, second - PERIOD_SECONDS)
      for (const at of seconds.keys()) if (at < second - PERIOD_SECONDS) seconds.delete(at)
      if (begins) return undefined
      const skipped = deliveries - counted.newest.length
      return { since: undefined, seconds: inOrder(step), newest: counted.newest, skipped }
    },

    /** Everything since 15 minutes ago. */
    beginning(): Counts {
      // Before `since` only refusals are complete.
      const counted = inOrder(seconds).flatMap((each) => (each.second < since ? refusalsOf(each) : [each]))
      const deliveries = counted.reduce((total, { byStatus }) => total + byStatus.reduce((one, two) => one + two, 0), 0)
      const shown = newest.filter(({ receivedAt }) => receivedAt >= since * 1000)
      return { since, refusedSince, seconds: counted, newest: shown, skipped: deliveries - shown.length }
    },

    /** Shows no delivery again that is known by now: it may have been erased. */
    forgetNewest(): void {
      newest = []
    },
  }
}

const refusedOnly = (second: number, refusals: Refusals): LiveSecond => ({
  second,
  byStatus: [0, 0, 0, 0],
  duplicates: 0,
  refusals,
})

/** A second without its deliveries; none if nothing was refused. */
const refusalsOf = ({ second, refusals }: LiveSecond): LiveSecond[] =>
  refusals.size > 0 ? [refusedOnly(second, refusals)] : []

const sum = (known: LiveSecond | undefined, added: LiveSecond): LiveSecond => {
  if (known === undefined) return added
  const refusals = new Map(known.refusals)
  for (const [code, count] of added.refusals) refusals.set(code, (refusals.get(code) ?? 0) + count)
  return {
    second: known.second,
    byStatus: known.byStatus.map((count, status) => count + (added.byStatus[status] ?? 0)),
    duplicates: known.duplicates + added.duplicates,
    refusals,
  }
}

const inOrder = (seconds: ReadonlyMap<number, LiveSecond>): LiveSecond[] =>
  [...seconds.values()].sort((one, other) => one.second - other.second)
