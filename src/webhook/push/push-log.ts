import type { Clock } from '#src/lib/clock.ts'

export interface PushLog {
  info(details: object, message: string): void
  warn(details: object, message: string): void
  error(details: object, message: string): void
}

interface Seen {
  isSilent(): boolean
  failingSince(): number | null
}

/** Logs one line when an endpoint starts failing and one when it works again. */
export interface FailingLog {
  /** Must be called every second. */
  look(id: string, seen: Seen): void
  /** Forgets all endpoints but these. */
  keep(ids: { has(id: string): boolean }): void
}

/** A single delivery that fails now and then is not worth a line. */
const FAILING_MILLISECONDS = 60_000
/** Bounds the lines about an endpoint that works now and then. */
const QUIET_MILLISECONDS = 30_000

export function createFailingLog(log: PushLog, clock: Clock): FailingLog {
  const loggedAt = new Map<string, number>()

  return {
    look(id, seen) {
      const since = seen.failingSince()
      const isFailing = seen.isSilent() || (since !== null && clock.now() - since >= FAILING_MILLISECONDS)
      const logged = loggedAt.get(id)
      if (isFailing && logged === undefined) {
        loggedAt.set(id, clock.monotonic())
        log.warn({ endpoint: id }, 'a webhook endpoint fails: deliveries wait for it')
      } else if (!isFailing && logged !== undefined && clock.monotonic() - logged >= QUIET_MILLISECONDS) {
        loggedAt.delete(id)
        log.info({ endpoint: id }, 'a webhook endpoint works again')
      }
    },
    keep(ids) {
      for (const id of loggedAt.keys()) if (!ids.has(id)) loggedAt.delete(id)
    },
  }
}

/** Logs one line when the store is lost to webhooks and one when it is back. */
export function createStoreLog(log: PushLog, clock: Clock) {
  let loggedAt = Number.NEGATIVE_INFINITY
  let isLost = false
  return {
    failed(error: unknown): void {
      if (isLost || clock.monotonic() - loggedAt < QUIET_MILLISECONDS) return
      isLost = true
      loggedAt = clock.monotonic()
      log.warn({ err: error }, 'webhooks wait: the store does not answer')
    },
    works(): void {
      if (isLost) log.info({}, 'webhooks go on: the store answers again')
      isLost = false
    },
  }
}
