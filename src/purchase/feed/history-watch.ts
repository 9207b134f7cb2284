import { isoMilliseconds } from '#src/lib/clock.ts'
import type { Log } from '#src/lib/log/logger.ts'
import type { Store, StoreHistory } from '#src/store/store.ts'

const WENT_BACK =
  'the last position went back: a failover or a recovery of the database lost deliveries. Cursors that lie among them are refused'
const WENT_ON =
  'deliveries go on after a failover or a recovery of the database. Unless a synchronous standby took over, some are lost, and cursors that lie among them are refused'

/**
 * Makes what writes to the log when the history of the deliveries went back, and where it goes on. It must be called every second or so:
 * it compares what the store says with what it said before.
 */
export function createHistoryWatch(history: Store['history'], log: Pick<Log, 'warn' | 'error'>) {
  let before: StoreHistory | undefined
  /** The highest position since the history last went on elsewhere. */
  let highestSeen = 0

  return async (): Promise<void> => {
    const now = await history()
    const { timeline, lastPosition, resumed } = now
    if (before !== undefined && resumed !== null && resumed.after !== before.resumed?.after) {
      const { at, lastPosition: lastLeft, after } = resumed
      const positions = { timeline, lastLeft, resumedAfter: after, firstStoredAt: isoMilliseconds(at) }
      if (highestSeen > lastLeft) log.error({ ...positions, highestSeen }, WENT_ON)
      else log.warn(positions, WENT_ON)
      highestSeen = 0
    } else if (before !== undefined && lastPosition < before.lastPosition) {
      log.error({ timeline, lastPosition, highestSeen }, WENT_BACK)
    }
    highestSeen = Math.max(highestSeen, lastPosition)
    before = now
  }
}
