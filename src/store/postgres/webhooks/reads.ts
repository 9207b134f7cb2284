import {
  attemptFromRow,
  FIND_WEBHOOK,
  failingFromRow,
  LIST_ATTEMPTS,
  LIST_MINUTES,
  LIST_WEBHOOKS,
  loadedFromRows,
  MAX_ATTEMPTS,
  minuteFromRow,
  webhookFromRow,
} from '#src/store/shared/webhooks.ts'
import type { WebhookStore } from '#src/store/store.ts'
import type { Database } from '../database.ts'
import { BY_POSITION } from '../deliveries/by-position.ts'

const WAITING = `
  SELECT w.position, w.failures, w.first_failed_at, w.next_at, w.set_aside_at, w.last_error, d.receipt, c.id AS customer_id,
         d.order_id, d.status, d.received_at, d.echo_of, c.erased_at IS NOT NULL AS erased, d.payload_bytes
    FROM webhook_waiting w LEFT JOIN ${BY_POSITION('w.position')} LEFT JOIN customer c ON c.number = d.customer
   WHERE w.webhook = $1 AND w.set_aside_at IS NULL
   ORDER BY w.position`

const FAILING = (which: string): string => `
  SELECT w.position, w.failures, w.first_failed_at, w.next_at, w.set_aside_at, w.last_error, d.receipt
    FROM webhook_waiting w LEFT JOIN LATERAL (SELECT receipt FROM delivery WHERE position = w.position LIMIT 1) d ON true
   WHERE w.webhook = $1 AND ${which}
   ORDER BY w.position
   LIMIT $2`

const SET_ASIDE = FAILING('w.set_aside_at IS NOT NULL')
const STILL_TRIED = FAILING('w.set_aside_at IS NULL AND w.failures > 0')

type WebhookReads = Pick<WebhookStore, 'list' | 'find' | 'load' | 'failing' | 'attempts' | 'minutes'>

export const webhookReads = ({ query, transaction }: Database): WebhookReads => ({
  list: async () => (await query(LIST_WEBHOOKS)).rows.map(webhookFromRow),

  async find(id) {
    const [row] = (await query(FIND_WEBHOOK, id)).rows
    return row && webhookFromRow(row)
  },

  /** Both statements read the same state. */
  load: (id) =>
    transaction(async (query) => {
      await query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY')
      const [row] = (await query(FIND_WEBHOOK, id)).rows
      return row && loadedFromRows(row, (await query(WAITING, id)).rows)
    }),

  async failing(id, most) {
    const setAside = (await query(SET_ASIDE, id, most)).rows
    return [...setAside, ...(await query(STILL_TRIED, id, most - setAside.length)).rows].map(failingFromRow)
  },

  attempts: async (id, most) => (await query(LIST_ATTEMPTS, id, Math.min(most, MAX_ATTEMPTS))).rows.map(attemptFromRow),

  minutes: async (id, from) => (await query(LIST_MINUTES, id, from)).rows.map(minuteFromRow),
})
