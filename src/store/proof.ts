import type { AppError } from '#src/lib/app-error.ts'
import { monotonicMilliseconds } from '#src/lib/clock.ts'
import { within } from '#src/lib/metrics.ts'
import { sharedWithin } from '#src/lib/shared-work.ts'

/** Knows whether deliveries are stored: by the writes of this process, or else by a probe. */
export interface Proof {
  /** Runs a write, and notes how long it takes. `proves` tells by its result whether something was made durable, as a delivery would be. */
  watch<Result>(write: () => Promise<Result>, proves?: (result: Result) => boolean): Promise<Result>
  /** Notes that what was written last may be lost. */
  distrust(): void
  /**
   * Reads what others will build on, once a write that began after the last `distrust` is durable, and so all before it. Reads again if
   * there was another one meanwhile. Rejects where nothing is stored.
   */
  settled<Result>(read: () => Promise<Result>): Promise<Result>
  /** Resolves if a delivery could be stored now, or rejects with the reason, within two seconds. A probe that takes longer goes on. */
  prove(): Promise<void>
}

interface ProofOptions {
  /** Does what a delivery does but stores nothing; if `durable`, it writes something and waits until that is durable. */
  readonly probe: (durable: boolean) => Promise<void>
  /** Whether writes prove nothing at the moment. */
  readonly isDoubtful?: () => boolean
  /** Says what a probe waits for, if that can be found out. */
  readonly explain: () => Promise<string | undefined>
  readonly refusal: (reason: string) => AppError
}

/** How long a success is proof enough, and how long a write may be under way meanwhile. */
const PROVEN_MILLISECONDS = 1000
/** Anybody may ask for a probe, so it writes seldom. */
const DURABLE_MILLISECONDS = 10_000
const LATE_MILLISECONDS = 1400
const EXPLAIN_MILLISECONDS = 400

/** How often it is read at most, while connections are lost one after the other. */
const MAX_READS = 10

const NEVER = Number.NEGATIVE_INFINITY

export function createProof({ probe, isDoubtful = () => false, explain, refusal }: ProofOptions): Proof {
  let provenAt = NEVER
  let durableAt = NEVER
  let distrusts = 0
  /** How many of them a durable write has followed. */
  let settledDistrusts = 0
  /** When each write that is under way began, the oldest first. */
  const underWay = new Set<{ readonly begun: number }>()

  const isSettled = (): boolean => settledDistrusts === distrusts

  const isProven = (): boolean => {
    const now = monotonicMilliseconds()
    const [oldest = { begun: now }] = underWay
    return (
      isSettled() && !isDoubtful() && now - provenAt < PROVEN_MILLISECONDS && now - oldest.begun < PROVEN_MILLISECONDS
    )
  }

  const doubt = (): void => {
    provenAt = NEVER
    durableAt = NEVER
  }

  const isLate = (begun: number): boolean => monotonicMilliseconds() - begun >= LATE_MILLISECONDS

  /** A success that comes late proves nothing: else a slow disk would be ready now and then. */
  const succeeded = (begun: number, durable: boolean, after: number): void => {
    if (durable) settledDistrusts = Math.max(settledDistrusts, after)
    const proven = isLate(begun) ? NEVER : monotonicMilliseconds()
    provenAt = proven
    if (durable || proven === NEVER) durableAt = proven
  }

  const tryNow = async (): Promise<void> => {
    const begun = monotonicMilliseconds()
    const durable = !isSettled() || begun - durableAt >= DURABLE_MILLISECONDS
    const after = distrusts
    try {
      await probe(durable)
    } catch (error) {
      doubt()
      throw error
    }
    succeeded(begun, durable, after)
  }

  const late = async (): Promise<never> => {
    const reason = await within(EXPLAIN_MILLISECONDS, explain()).catch(() => undefined)
    throw refusal(reason ?? 'a write has been under way for more than a second')
  }

  const tryInTime = sharedWithin(LATE_MILLISECONDS, tryNow, late)

  const prove = async (): Promise<void> => {
    if (!isProven()) await tryInTime()
  }

  return {
    async watch(write, proves = () => true) {
      const mark = { begun: monotonicMilliseconds() }
      const after = distrusts
      underWay.add(mark)
      try {
        const result = await write()
        if (proves(result)) succeeded(mark.begun, true, after)
        else if (isLate(mark.begun)) doubt()
        return result
      } catch (error) {
        doubt()
        throw error
      } finally {
        underWay.delete(mark)
      }
    },
    distrust() {
      distrusts++
      doubt()
    },
    async settled(read) {
      // Reading anew distrusts the store for a moment. Others then read again, and are not refused.
      for (let tries = 0; tries < MAX_READS; tries++) {
        const last = distrusts
        if (!isSettled()) await prove()
        if (!isSettled()) continue
        const result = await read()
        if (distrusts === last) return result
      }
      throw refusal('its last connection for deliveries was lost, and nothing has been stored since')
    },
    prove,
  }
}
