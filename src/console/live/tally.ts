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
const NO_DELIVERIES: Omit<PulseSecond, 'second'> = { byStatus: [0, 0, 0, 0], duplicates: 0 }
const NO_REFUSALS: Refusals = new Map()

/** Counts what comes in since `begunAt`, one step a second, and knows the last 15 minutes for who is new or has missed a step. */
export function createTally(begunAt: number) {
  /** Undefined before the first pulse. */
  let position: number | undefined
  let since = 0
  let refusedSince = Math.floor(begunAt / 1000)
  let newest: readonly NewDelivery[] = []
  const delivered = new Map<number, PulseSecond>()
  const refused = new Map<number, Refusals>()

  return {
    position: (): number | undefined => position,

    /** Without a pulse only refusals are counted. Returns the step; undefined if nobody can go on from what was before. */
    add(pulse: NewPulse | undefined, refusals: Refusals, now: number): Counts | undefined {
      const second = Math.floor(now / 1000)
      const { deliveries, ...counted } = pulse ?? NOTHING
      const begins = pulse?.since !== undefined
      if (begins) {
        since = pulse.since / 1000
        newest = []
        delivered.clear()
      }
      for (const each of counted.seconds) delivered.set(each.second, sum(delivered.get(each.second), each))
      if (refusals.size > 0) refused.set(second, sumByCode(refused.get(second), refusals))
      position = pulse?.position ?? position
      newest = [...counted.newest, ...newest].slice(0, MAX_NEWEST)
      since = Math.max(since, second - PERIOD_SECONDS)
      refusedSince = Math.max(refusedSince, second - PERIOD_SECONDS)
      for (const seconds of [delivered, refused])
        for (const at of seconds.keys()) if (at < second - PERIOD_SECONDS) seconds.delete(at)
      if (begins) return undefined
      return {
        since: undefined,
        seconds: inOrder(counted.seconds, refusals.size > 0 ? new Map([[second, refusals]]) : new Map()),
        newest: counted.newest,
        skipped: deliveries - counted.newest.length,
      }
    },

    /** Everything since 15 minutes ago. */
    beginning(): Counts {
      const counted = [...delivered.values()].filter((each) => each.second >= since)
      const deliveries = counted.reduce((total, { byStatus }) => total + byStatus.reduce((one, two) => one + two, 0), 0)
      const shown = newest.filter(({ receivedAt }) => receivedAt >= since * 1000)
      const skipped = deliveries - shown.length
      return { since, refusedSince, seconds: inOrder(counted, refused), newest: shown, skipped }
    },

    /** Shows no delivery again that is known by now: it may have been erased. */
    forgetNewest(): void {
      newest = []
    },
  }
}

const sum = ({ byStatus, duplicates } = NO_DELIVERIES, added: PulseSecond): PulseSecond => ({
  second: added.second,
  byStatus: added.byStatus.map((count, status) => count + (byStatus[status] ?? 0)),
  duplicates: added.duplicates + duplicates,
})

function sumByCode(known: Refusals = NO_REFUSALS, added: Refusals): Refusals {
  const all = new Map(known)
  for (const [code, count] of added) all.set(code, (all.get(code) ?? 0) + count)
  return all
}

/** Every second of either, the oldest first. */
function inOrder(delivered: readonly PulseSecond[], refused: ReadonlyMap<number, Refusals>): LiveSecond[] {
  const bySecond = new Map(delivered.map((each) => [each.second, each]))
  const seconds = new Set([...bySecond.keys(), ...refused.keys()])
  return [...seconds]
    .sort((one, other) => one - other)
    .map((second) => ({
      ...NO_DELIVERIES,
      ...bySecond.get(second),
      second,
      refusals: refused.get(second) ?? NO_REFUSALS,
    }))
}
