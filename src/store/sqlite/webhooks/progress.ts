import { type SavedAttempt, type SavedWebhook, savedAttempt, savedWebhook } from '#src/store/shared/webhook-saves.ts'
import { DAY_MILLISECONDS, MAX_ATTEMPTS } from '#src/store/shared/webhooks.ts'
import type { WebhookStore } from '#src/store/store.ts'
import type { Database } from '../database.ts'
import { NOW } from './leases.ts'
import type { Operations } from './operations.ts'
import { withoutSync } from './without-sync.ts'

const SAVE = `
  UPDATE webhook_progress
     SET position = $1, generation = $2, confirmed = $3, last_success_at = $4, failing_since = $5, next_try_at = $6
   WHERE webhook = $7 AND epoch = $8 AND holder = $9 AND leased_until > ${NOW}`

const WAIT = `
  INSERT INTO webhook_waiting (webhook, position, failures, first_failed_at, next_at, set_aside_at, last_error)
  VALUES ($1, $2, $3, $4, $5, $6, $7)
  ON CONFLICT (webhook, position) DO UPDATE
     SET failures = excluded.failures, first_failed_at = excluded.first_failed_at, next_at = excluded.next_at,
         set_aside_at = excluded.set_aside_at, last_error = excluded.last_error`

const SETTLE = 'DELETE FROM webhook_waiting WHERE webhook = $1 AND position = $2'

/** An answer may hold what was sent, so it is not kept if nobody can tell whose delivery that was, nor for an erased customer. */
const ADD_ATTEMPT = `
  INSERT INTO webhook_attempt (webhook, at, position, receipt, customer, status, error, milliseconds, response, next_at)
  SELECT w.id, $2, $3, $4, c.number, $5, $6, $7,
         CASE WHEN $3 IS NULL OR (c.number IS NOT NULL AND c.erased_at IS NULL) THEN $8 END, $9
    FROM webhook w LEFT JOIN delivery d ON d.position = $3 LEFT JOIN customer c ON c.number = d.customer
   WHERE w.id = $1`

const TRIM_ATTEMPTS = `
  DELETE FROM webhook_attempt
   WHERE webhook = $1
     AND number <= (SELECT number FROM webhook_attempt WHERE webhook = $1 ORDER BY number DESC LIMIT 1 OFFSET ${MAX_ATTEMPTS})`

const ADD_MINUTE = `
  INSERT INTO webhook_minute (webhook, minute, succeeded, failed, longest) VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (webhook, minute) DO UPDATE
     SET succeeded = succeeded + excluded.succeeded, failed = failed + excluded.failed, longest = max(longest, excluded.longest)`

const PAUSE_GONE = `UPDATE webhook SET paused_reason = 'gone', paused_at = $1 WHERE id = $2 AND paused_at IS NULL`

/** Bounds what one save removes of other endpoints. */
const EXPIRED_AT_ONCE = 1000

const EXPIRED = [
  `DELETE FROM webhook_attempt
    WHERE number IN (SELECT number FROM webhook_attempt WHERE at < $1 ORDER BY at LIMIT ${EXPIRED_AT_ONCE})`,
  `DELETE FROM webhook_minute
    WHERE (webhook, minute) IN (SELECT webhook, minute FROM webhook_minute WHERE minute < $1 ORDER BY minute LIMIT ${EXPIRED_AT_ONCE})`,
]

/** One in so many attempts causes the oldest to go, because that counts through those that stay. */
const TRIM_EVERY = 16

function addAttempts(database: Database, id: string, attempts: readonly SavedAttempt[]): void {
  let full = false
  for (const { at, position, receipt, status, error, milliseconds, response, next_at: nextAt } of attempts) {
    const answer = [status, error, milliseconds, response, nextAt] as const
    full = database.insert(ADD_ATTEMPT, id, at, position, receipt, ...answer) % TRIM_EVERY === 0 || full
  }
  if (full) database.run(TRIM_ATTEMPTS, id)
}

/** Returns whether the holder may save this endpoint. */
function saveOne(database: Database, holder: string, save: SavedWebhook, now: number): boolean {
  const { id, epoch, position, generation, confirmed } = save
  const state = [save.last_success_at, save.failing_since, save.next_try_at] as const
  if (database.run(SAVE, position, generation, confirmed, ...state, id, epoch, holder) === 0) return false
  for (const each of save.waiting) {
    const times = [each.first_failed_at, each.next_at, each.set_aside_at] as const
    database.run(WAIT, id, each.position, each.failures, ...times, each.last_error)
  }
  for (const settled of save.settled) database.run(SETTLE, id, settled)
  addAttempts(database, id, save.attempts)
  for (const { minute, succeeded, failed, longest } of save.minutes) {
    database.run(ADD_MINUTE, id, minute, succeeded, failed, longest)
  }
  if (save.gone) database.run(PAUSE_GONE, now, id)
  return true
}

/** Run by the writer thread. */
export const webhookProgress = {
  save: (database, holder, saves, now) =>
    withoutSync(database, () => {
      const saved = saves.filter((save) => saveOne(database, holder, savedWebhook(save), now))
      for (const sql of EXPIRED) database.run(sql, now - DAY_MILLISECONDS)
      return saved.map(({ id }) => id)
    }),
  recordAttempt: (database, id, attempt) =>
    database.transaction(() => addAttempts(database, id, [savedAttempt(attempt)])),
} satisfies Operations<WebhookStore>
