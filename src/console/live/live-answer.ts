import { isoMilliseconds } from '#src/lib/clock.ts'
import { senderAnswer, summaryAnswer } from '#src/purchase/delivery-answer.ts'
import type { PulseSecond } from '#src/store/store.ts'
import type { Latency } from '../recent-latency.ts'
import type { Beginning, Increment } from './tally.ts'

/** How this process is doing now. */
export interface LiveState {
  readonly at: number
  readonly latency: Latency
  readonly queue: { readonly deliveries: number; readonly bytes: number }
  readonly replicas: number | undefined
  readonly store: 'sqlite' | 'postgres'
  readonly storeUp: boolean
  readonly backupAt: number | undefined
  readonly consoles: number
}

const NOTHING: Increment = { seconds: [], newest: [], skipped: 0, refusals: {} }

/** Returns one frame of the live view. Without counts, it says how the process is doing. */
export const liveAnswer = (state: LiveState, counts: Increment | Beginning = NOTHING) => ({
  At: isoMilliseconds(state.at),
  ...('since' in counts && { Since: counts.since }),
  Seconds: counts.seconds.map(secondAnswer),
  Newest: counts.newest.map((each) => ({ ...summaryAnswer(each), ...senderAnswer(each.origin) })),
  Skipped: counts.skipped,
  Latency: { P50Ms: state.latency.p50Ms, P99Ms: state.latency.p99Ms },
  Queue: { Deliveries: state.queue.deliveries, Bytes: state.queue.bytes },
  Refusals: counts.refusals,
  Replicas: state.replicas ?? null,
  Store: state.store,
  StoreUp: state.storeUp,
  BackupAt: state.backupAt === undefined ? null : isoMilliseconds(state.backupAt),
  Consoles: state.consoles,
})

export type LiveAnswer = ReturnType<typeof liveAnswer>

const secondAnswer = ({ second, byStatus, duplicates }: PulseSecond) => ({
  At: second,
  ByStatus: [...byStatus],
  Duplicates: duplicates,
})
