import type { Clock } from '#src/lib/clock.ts'
import type { AuditStore } from '#src/store/store.ts'

const DAY_MILLISECONDS = 86_400_000
/** Few at a time, so that no delivery waits for a long transaction. */
const AT_ONCE = 500
const SOON_MILLISECONDS = 1_000
const LATER_MILLISECONDS = 600_000

interface Retention {
  /** Deletes one batch of what has expired; resolves to whether there may be more. */
  expire(): Promise<boolean>
  start(): void
  stop(): void
}

/** Deletes what is older than `days`, gradually while the server runs. */
export function createRetention(
  expiring: Pick<AuditStore, 'deleteBefore'>,
  clock: Clock,
  days: number,
  onFailed: (error: unknown) => void,
): Retention {
  let timer: NodeJS.Timeout | undefined

  const expire = async (): Promise<boolean> =>
    days > 0 && (await expiring.deleteBefore(clock.now() - days * DAY_MILLISECONDS, AT_ONCE)) === AT_ONCE

  const again = (after: number): void => {
    timer = setTimeout(async () => {
      const more = await expire().catch(onFailed)
      if (timer !== undefined) again(more ? SOON_MILLISECONDS : LATER_MILLISECONDS)
    }, after).unref()
  }

  return {
    expire,
    start() {
      if (days > 0) again(LATER_MILLISECONDS)
    },
    stop() {
      clearTimeout(timer)
      timer = undefined
    },
  }
}
