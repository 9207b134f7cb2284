import { heldFromRow } from '#src/store/shared/webhooks.ts'
import type { WebhookStore } from '#src/store/store.ts'
import type { Query } from '../database.ts'

/** A failover ends all leases: the progress in the store may be older than what its holder knows. */
const TIMELINE = '(SELECT timeline_1())'

const NOW = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint'

/**
 * A lease that begins further ahead than it is long was made before the clock was set back. SKIP LOCKED leaves endpoints alone that
 * are being claimed or saved.
 */
const CLAIM = `
  WITH free AS MATERIALIZED (
    SELECT p.webhook
      FROM webhook_progress p JOIN webhook w ON w.id = p.webhook
     WHERE w.paused_at IS NULL
       AND (p.leased_until IS NULL OR p.timeline IS DISTINCT FROM ${TIMELINE} OR p.leased_until <= ${NOW} OR p.leased_at > ${NOW} + (p.leased_until - p.leased_at))
     ORDER BY p.webhook
     LIMIT $3
       FOR UPDATE OF p SKIP LOCKED
  )
  UPDATE webhook_progress p SET holder = $1, leased_at = ${NOW}, leased_until = ${NOW} + $2::bigint, timeline = ${TIMELINE}
    FROM free WHERE p.webhook = free.webhook
  RETURNING p.webhook`

const LOCK = (more = ''): string => `
  locked AS MATERIALIZED (SELECT webhook FROM webhook_progress WHERE holder = $1 ${more} ORDER BY webhook FOR UPDATE)`

const RENEW = `
  WITH ${LOCK(`AND leased_until > ${NOW} AND timeline IS NOT DISTINCT FROM ${TIMELINE}`)}, renewed AS (
    UPDATE webhook_progress p SET leased_at = ${NOW}, leased_until = ${NOW} + $2::bigint
      FROM locked WHERE p.webhook = locked.webhook
    RETURNING p.webhook, p.epoch
  )
  SELECT w.id, w.version, r.epoch, w.paused_at IS NOT NULL AS paused
    FROM renewed r JOIN webhook w ON w.id = r.webhook
   ORDER BY w.id`

const RELEASE = `
  WITH ${LOCK('AND ($2::text[] IS NULL OR webhook = ANY ($2))')}
  UPDATE webhook_progress p SET holder = NULL, leased_at = NULL, leased_until = NULL
    FROM locked WHERE p.webhook = locked.webhook`

export const webhookLeases = (query: Query): Pick<WebhookStore, 'claim' | 'renew' | 'release'> => ({
  claim: async (holder, leaseMilliseconds, most) =>
    (await query(CLAIM, holder, leaseMilliseconds, most)).rows.map(({ webhook }) => webhook as string),
  renew: async (holder, leaseMilliseconds) => (await query(RENEW, holder, leaseMilliseconds)).rows.map(heldFromRow),
  async release(holder, ids) {
    await query(RELEASE, holder, ids ?? null)
  },
})
