import { savedAttempt, savedWebhook } from '#src/store/shared/webhook-saves.ts'
import type { WebhookStore } from '#src/store/store.ts'
import type { Query } from '../database.ts'

const SAVE = 'SELECT save_webhooks_1($1, $2::jsonb, $3) AS id'

/** As `save_webhooks_1` does it. The lock keeps the endpoint from being removed meanwhile. */
const ADD_ATTEMPT = `
  INSERT INTO webhook_attempt (webhook, at, position, receipt, customer, status, error, milliseconds, response, next_at)
  SELECT p.webhook, $2, $3::bigint, $4, c.number, $5, $6, $7,
         CASE WHEN $3 IS NULL OR (c.number IS NOT NULL AND c.erased_at IS NULL) THEN $8 END, $9
    FROM (SELECT webhook FROM webhook_progress WHERE webhook = $1 FOR KEY SHARE) p
    LEFT JOIN LATERAL (SELECT customer FROM delivery WHERE position = $3 LIMIT 1) d ON true
    LEFT JOIN customer c ON c.number = d.customer`

export const webhookProgress = (query: Query): Pick<WebhookStore, 'save' | 'recordAttempt'> => ({
  save: async (holder, saves, now) =>
    (await query(SAVE, holder, JSON.stringify(saves.map(savedWebhook)), now)).rows.map(({ id }) => id as string),
  async recordAttempt(id, attempt) {
    const { at, position, receipt, status, error, milliseconds, response, next_at: nextAt } = savedAttempt(attempt)
    await query(ADD_ATTEMPT, id, at, position, receipt, status, error, milliseconds, response, nextAt)
    await query('SELECT trim_attempts_1($1)', id)
  },
})
