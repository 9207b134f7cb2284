import type { Clock } from '#src/lib/clock.ts'
import { DAY_MILLISECONDS } from '#src/lib/duration.ts'
import { every } from '#src/lib/time/every.ts'
import type { AuditStore } from '#src/store/store.ts'

/** Few at a time, so that no delivery waits for a long transaction. */
const AT_ONCE = 500
const SOON_MILLISECONDS = 1_000
const LATER_MILLISECONDS = 600_000

/** Deletes what is older than `days`, gradually while the server runs. */
export function createRetention(
  expiring: Pick<AuditStore, 'deleteBefore'>,
  clock: Clock,
  days: number,
  onFailed: (error: unknown) => void,
) {
  const expire = async (): Promise<boolean> =>
    days > 0 && (await expiring.deleteBefore(clock.now() - days * DAY_MILLISECONDS, AT_ONCE)) === AT_ONCE

  const { start, stop } = every({
    firstMilliseconds: LATER_MILLISECONDS,
    work: async () => ((await expire()) ? SOON_MILLISECONDS : LATER_MILLISECONDS),
    onFailed(error) {
      onFailed(error)
      return LATER_MILLISECONDS
    },
  })

  return {
    /** Deletes one batch of what has expired; resolves to whether there may be more. */
    expire,
    start() {
      if (days > 0) start()
    },
    stop,
  }
}
