import type { Clock } from '#src/lib/clock.ts'
import type { PurgedPage, PurgePage, PurgeScope, PurgeStore, UnsentCount } from '#src/store/store.ts'

export interface PurgeDependencies {
  readonly purges: PurgeStore
  readonly yielding: Yielding
}

/** Runs one step of long work, then yields to deliveries for a while. Rejects when the work must end. */
export type Yielding = <Result>(step: () => Promise<Result>) => Promise<Result>

/** How many times longer than its step each pause is. */
const PAUSES = 3
const MIN_PAUSE_MILLISECONDS = 2

/** Pauses after each step, so that deliveries get most of the time. */
export const createYielding =
  (clock: Pick<Clock, 'monotonic'>, wait: (milliseconds: number) => Promise<void>): Yielding =>
  async (step) => {
    const start = clock.monotonic()
    const result = await step()
    await wait(Math.max(MIN_PAUSE_MILLISECONDS, (clock.monotonic() - start) * PAUSES))
    return result
  }

export interface PurgeReport {
  readonly deliveries: number
  readonly orders: number
  readonly payloadBytes: number
  /** What endpoints have not taken. */
  readonly webhooks: readonly UnsentCount[]
}

export interface PurgeOptions extends PurgeScope {
  readonly dryRun?: boolean
  /** Called before anything is removed; not if there is nothing to remove. */
  readonly onBegin?: () => Promise<void>
  readonly onProgress?: (report: PurgeReport) => void
}

/** Deliveries that one step scans: a few milliseconds, during which new deliveries may have to wait. */
const SCANNED_AT_ONCE = 500
/** Kept for new deliveries, which would otherwise extend the file again. */
const KEPT_PART = 0.05

/** Removes old deliveries a few at a time. Killed at any moment, it leaves a consistent store, and can be run again. */
export async function purgeDeliveries(
  { purges, yielding }: PurgeDependencies,
  options: PurgeOptions,
): Promise<PurgeReport> {
  const { before, orders, unsent, now, dryRun = false, onBegin, onProgress } = options
  const until = await purges.endOf(before)
  const page = { before, orders, unsent, now, until, scan: SCANNED_AT_ONCE }
  const webhooks = new Map<string, UnsentCount>()
  const sum = { deliveries: 0, orders: 0, payloadBytes: 0 }
  let announced = false
  for (let after: number | null = 0; after !== null; ) {
    const at: PurgePage = { ...page, after, dryRun: dryRun || !announced }
    let found: PurgedPage = await yielding(() => purges.page(at))
    if (!dryRun && !announced && found.deliveries > 0) {
      await onBegin?.()
      await purges.announce(until)
      announced = true
      found = await yielding(() => purges.page({ ...at, dryRun: false }))
    }
    sum.deliveries += found.deliveries
    sum.orders += found.orders
    sum.payloadBytes += found.payloadBytes
    for (const each of found.webhooks) webhooks.set(each.id, addedUp(each, webhooks.get(each.id)))
    onProgress?.({ ...sum, webhooks: [...webhooks.values()] })
    after = found.position
  }
  return { ...sum, webhooks: [...webhooks.values()] }
}

const addedUp = (
  one: UnsentCount,
  { kept, removed, last }: UnsentCount = { ...one, kept: 0, removed: 0, last: 0 },
) => ({
  id: one.id,
  kept: one.kept + kept,
  removed: one.removed + removed,
  last: Math.max(one.last, last),
})

/** Gives unused space back to the file system, a little at a time, except for a part that new deliveries will use. */
export async function giveBack({ purges, yielding }: PurgeDependencies, keptPart = KEPT_PART): Promise<void> {
  while (await yielding(() => purges.giveBack(keptPart)));
}
