import { heldFromRow } from '#src/store/shared/webhooks.ts'
import type { WebhookStore } from '#src/store/store.ts'
import type { Database } from '../database.ts'
import type { Operations } from './operations.ts'
import { withoutSync } from './without-sync.ts'

export const NOW = `CAST(unixepoch('subsec') * 1000 AS INTEGER)`

/** A lease that ends further ahead than it can be long was made before the clock was set back. */
const FREE = `
  FROM webhook_progress p CROSS JOIN webhook w ON w.id = p.webhook
 WHERE w.paused_at IS NULL
   AND (p.leased_until IS NULL OR p.leased_until <= ${NOW} OR p.leased_at > ${NOW} + (p.leased_until - p.leased_at))`

const ANY_FREE = `SELECT 1 ${FREE} LIMIT 1`

const CLAIM = `
  UPDATE webhook_progress SET holder = $1, leased_at = ${NOW}, leased_until = ${NOW} + $2
   WHERE webhook IN (SELECT p.webhook ${FREE} ORDER BY p.webhook LIMIT $3)
  RETURNING webhook`

const HOLDS = `holder = $1 AND leased_until > ${NOW}`

const RENEW = `UPDATE webhook_progress SET leased_at = ${NOW}, leased_until = ${NOW} + $2 WHERE ${HOLDS}`

const HELD = `
  SELECT w.id, w.version, p.epoch, w.paused_at IS NOT NULL AS paused
    FROM webhook_progress p CROSS JOIN webhook w ON w.id = p.webhook
   WHERE ${HOLDS}
   ORDER BY w.id`

const RELEASE = `
  UPDATE webhook_progress SET holder = NULL, leased_at = NULL, leased_until = NULL
   WHERE holder = $1 AND ($2 IS NULL OR webhook IN (SELECT value FROM json_each($2)))`

/** Run by the writer thread. */
export const webhookLeases = {
  claim: (database, holder, leaseMilliseconds, most) =>
    withoutSync(database, () =>
      database.all(CLAIM, holder, leaseMilliseconds, most).map(({ webhook }) => webhook as string),
    ),
  renew: (database, holder, leaseMilliseconds) =>
    withoutSync(database, () => {
      database.run(RENEW, holder, leaseMilliseconds)
      return database.all(HELD, holder).map(heldFromRow)
    }),
  release: (database, holder, ids) =>
    withoutSync(database, () => void database.run(RELEASE, holder, ids === undefined ? null : JSON.stringify(ids))),
} satisfies Operations<WebhookStore>

/** Looks that spare the writer thread what would change nothing. */
export const leaseLookUps = {
  isAnyFree: (database: Database): boolean => database.get(ANY_FREE) !== undefined,
  holdsAny: (database: Database, holder: string): boolean =>
    database.get('SELECT 1 FROM webhook_progress WHERE holder = $1 LIMIT 1', holder) !== undefined,
}
