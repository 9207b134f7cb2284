import type { PurgedPage, PurgePage, PurgeScope, PurgeStore } from '#src/store/store.ts'

export interface PurgeDependencies {
  readonly purges: PurgeStore
  readonly pace: Pace
}

/** Runs one step of long work, then pauses, so that deliveries hardly notice it. Rejects when the work must end. */
export type Pace = <Result>(step: () => Promise<Result>) => Promise<Result>

export interface PurgeReport {
  readonly deliveries: number
  readonly orders: number
  readonly payloadBytes: number
}

export interface PurgeOptions extends PurgeScope {
  readonly dryRun?: boolean
  /** Called before anything is removed; not if there is nothing to remove. */
  readonly onBegin?: () => Promise<void>
  readonly onProgress?: (report: PurgeReport) => void
}

/** Deliveries that one step looks at: a few milliseconds, during which new deliveries may have to wait. */
const LOOKED_AT_ONCE = 500
/** Kept for new deliveries, which would otherwise extend the file again. */
const KEPT_PART = 0.05

/** Removes old deliveries a few at a time. Killed at any moment, it leaves a consistent store, and can be run again. */
export async function purgeDeliveries(
  { purges, pace }: PurgeDependencies,
  options: PurgeOptions,
): Promise<PurgeReport> {
  const { before, orders, dryRun = false, onBegin, onProgress } = options
  const until = await purges.endOf(before)
  const page = { before, orders, until, look: LOOKED_AT_ONCE }
  const sum = { deliveries: 0, orders: 0, payloadBytes: 0 }
  let announced = false
  for (let after: number | null = 0; after !== null; ) {
    const at: PurgePage = { ...page, after, dryRun: dryRun || !announced }
    let found: PurgedPage = await pace(() => purges.page(at))
    if (!dryRun && !announced && found.deliveries > 0) {
      await onBegin?.()
      await purges.announce(until)
      announced = true
      found = await pace(() => purges.page({ ...at, dryRun: false }))
    }
    sum.deliveries += found.deliveries
    sum.orders += found.orders
    sum.payloadBytes += found.payloadBytes
    onProgress?.(sum)
    after = found.position
  }
  return sum
}

/** Gives unused room back to the file system, a little at a time, except for a part that new deliveries will use. */
export async function giveBack({ purges, pace }: PurgeDependencies, keptPart = KEPT_PART): Promise<void> {
  while (await pace(() => purges.giveBack(keptPart)));
}
