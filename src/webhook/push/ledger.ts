import type { WaitingDelivery, WebhookAttempt, WebhookMinute } from '#src/store/store.ts'

/** What happened since the last save. */
export interface Entries {
  readonly waiting: readonly WaitingDelivery[]
  readonly settled: readonly number[]
  readonly attempts: readonly WebhookAttempt[]
  readonly minutes: readonly WebhookMinute[]
}

export interface Ledger {
  isEmpty(): boolean
  /** Stores a delivery that waits or is set aside. */
  keep(row: WaitingDelivery): void
  /** Removes a delivery that was stored. */
  settle(position: number): void
  attempt(attempt: WebhookAttempt): void
  count(at: number, succeeded: boolean, milliseconds: number): void
  take(): Entries
  /** Takes back what could not be stored. */
  putBack(entries: Entries): void
}

const MINUTE_MILLISECONDS = 60_000
/** The store keeps no more. */
const MAX_ATTEMPTS = 500

export function createLedger(): Ledger {
  let rows = new Map<number, WaitingDelivery | undefined>()
  let attempts: WebhookAttempt[] = []
  let minutes = new Map<number, WebhookMinute>()

  const add = (one: WebhookMinute): void => {
    const before = minutes.get(one.minute) ?? { succeeded: 0, failed: 0, longestMilliseconds: 0 }
    minutes.set(one.minute, {
      minute: one.minute,
      succeeded: before.succeeded + one.succeeded,
      failed: before.failed + one.failed,
      longestMilliseconds: Math.max(before.longestMilliseconds, one.longestMilliseconds),
    })
  }

  return {
    isEmpty: () => rows.size === 0 && attempts.length === 0 && minutes.size === 0,
    keep: (row) => void rows.set(row.position, row),
    settle: (position) => void rows.set(position, undefined),
    attempt(attempt) {
      attempts.push(attempt)
      if (attempts.length > 2 * MAX_ATTEMPTS) attempts = attempts.slice(-MAX_ATTEMPTS)
    },
    count: (at, succeeded, milliseconds) =>
      add({
        minute: Math.floor(at / MINUTE_MILLISECONDS) * MINUTE_MILLISECONDS,
        succeeded: succeeded ? 1 : 0,
        failed: succeeded ? 0 : 1,
        longestMilliseconds: milliseconds,
      }),
    take() {
      const taken = {
        waiting: [...rows.values()].filter((row) => row !== undefined),
        settled: Array.from(rows, ([position, row]) => (row === undefined ? position : undefined)).filter(
          (position) => position !== undefined,
        ),
        attempts: attempts.slice(-MAX_ATTEMPTS),
        minutes: [...minutes.values()],
      }
      rows = new Map()
      attempts = []
      minutes = new Map()
      return taken
    },
    putBack(entries) {
      for (const row of entries.waiting) if (!rows.has(row.position)) rows.set(row.position, row)
      for (const position of entries.settled) if (!rows.has(position)) rows.set(position, undefined)
      attempts = [...entries.attempts, ...attempts].slice(-MAX_ATTEMPTS)
      for (const minute of entries.minutes) add(minute)
    },
  }
}
