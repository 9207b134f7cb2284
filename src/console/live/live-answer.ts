import { isoMilliseconds } from '#src/lib/clock.ts'
import { senderAnswer, summaryAnswer } from '#src/purchase/delivery-answer.ts'
import type { Latency } from '../recent-latency.ts'
import type { Counts, LiveSecond } from './tally.ts'

/** How this process is doing now. */
export interface LiveState {
  readonly at: number
  readonly latency: Latency
  readonly failed: number
  readonly queue: { readonly deliveries: number; readonly bytes: number }
  readonly replicas: number | undefined
  readonly store: 'sqlite' | 'postgres'
  readonly storeUp: boolean
  readonly backupAt: number | undefined
  readonly consoles: number
}

const NOTHING: Counts = { since: undefined, seconds: [], newest: [], skipped: 0 }

/** Returns one frame of the live view. Without counts, it says how the process is doing. */
export const liveAnswer = (state: LiveState, counts = NOTHING) => ({
  At: isoMilliseconds(state.at),
  ...(counts.since !== undefined && { Since: counts.since }),
  ...(counts.refusedSince !== undefined && { RefusedSince: counts.refusedSince }),
  Seconds: counts.seconds.map(secondAnswer),
  Newest: counts.newest.map(({ customer, ...each }) => ({
    ...summaryAnswer(each),
    ...senderAnswer(each.origin),
    ...(customer !== undefined && { Customer: customer }),
  })),
  Skipped: counts.skipped,
  Latency: { P50Ms: state.latency.p50Ms, P99Ms: state.latency.p99Ms },
  Failed: state.failed,
  Queue: { Deliveries: state.queue.deliveries, Bytes: state.queue.bytes },
  Replicas: state.replicas ?? null,
  Store: state.store,
  StoreUp: state.storeUp,
  BackupAt: state.backupAt === undefined ? null : isoMilliseconds(state.backupAt),
  Consoles: state.consoles,
})

export type LiveAnswer = ReturnType<typeof liveAnswer>

const secondAnswer = ({ second, byStatus, duplicates, refusals }: LiveSecond) => ({
  At: second,
  ByStatus: [...byStatus],
  Duplicates: duplicates,
  ...(refusals.size > 0 && { Refusals: Object.fromEntries(refusals) }),
})
