import { isoMilliseconds } from '#src/lib/clock.ts'
import type { Store, StoreHistory } from '#src/store/store.ts'

export interface HistoryWatchDependencies {
  readonly history: Store['history']
  readonly log: Readonly<Record<'info' | 'error', (fields: object, message: string) => void>>
}

export interface HistoryWatch {
  /** Must be called again and again: it compares what the store says with what it said before. */
  look(): Promise<void>
}

const WENT_BACK =
  'the last position went back: a failover or a recovery of the database lost deliveries. Cursors that lie among them are refused'
const LOST =
  'deliveries go on after a failover or a recovery of the database that lost some. Cursors that lie among them are refused'
const KEPT =
  'deliveries go on after a failover or a recovery of the database, which lost none that this server has seen'

/** Writes to the log when the history of the deliveries went back, and where it goes on. */
export function createHistoryWatch({ history, log }: HistoryWatchDependencies): HistoryWatch {
  let before: StoreHistory | undefined
  /** The highest position since the history last went on elsewhere. */
  let highestSeen = 0

  return {
    async look() {
      const now = await history()
      const { timeline, lastPosition, resumed } = now
      if (before !== undefined && resumed !== null && resumed.after !== before.resumed?.after) {
        const { at, lastPosition: lastLeft, after } = resumed
        const positions = { timeline, lastLeft, resumedAfter: after, highestSeen, firstStoredAt: isoMilliseconds(at) }
        if (highestSeen > lastLeft) log.error(positions, LOST)
        else log.info(positions, KEPT)
        highestSeen = 0
      } else if (before !== undefined && lastPosition < before.lastPosition) {
        log.error({ timeline, lastPosition, highestSeen }, WENT_BACK)
      }
      highestSeen = Math.max(highestSeen, lastPosition)
      before = now
    },
  }
}
