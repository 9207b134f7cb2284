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
import type { Operations } from './operations.ts'

const WAITING = `
  SELECT w.position, w.failures, w.first_failed_at, w.next_at, w.set_aside_at, w.last_error, hex(d.receipt) AS receipt,
         c.id AS customer_id, d.order_id, d.status, d.received_at, d.echo_of, c.erased_at IS NOT NULL AS erased,
         length(d.payload) AS payload_bytes
    FROM webhook_waiting w LEFT JOIN delivery d ON d.position = w.position LEFT JOIN customer c ON c.number = d.customer
   WHERE w.webhook = $1 AND w.set_aside_at IS NULL
   ORDER BY w.position`

const FAILING = (which: string): string => `
  SELECT w.position, w.failures, w.first_failed_at, w.next_at, w.set_aside_at, w.last_error, hex(d.receipt) AS receipt
    FROM webhook_waiting w LEFT JOIN delivery d ON d.position = w.position
   WHERE w.webhook = $1 AND ${which}
   ORDER BY w.position
   LIMIT $2`

const SET_ASIDE = FAILING('w.set_aside_at IS NOT NULL')
const STILL_TRIED = FAILING('w.set_aside_at IS NULL AND w.failures > 0')

/** Run by the reader thread. */
export const webhookReads = {
  list: (database) => database.all(LIST_WEBHOOKS).map(webhookFromRow),

  find(database, id) {
    const row = database.get(FIND_WEBHOOK, id)
    return row && webhookFromRow(row)
  },

  /** Both statements read the same state. */
  load: (database, id) =>
    database.savepoint(() => {
      const row = database.get(FIND_WEBHOOK, id)
      return row && loadedFromRows(row, database.all(WAITING, id))
    }),

  failing(database, id, most) {
    const setAside = database.all(SET_ASIDE, id, most)
    return [...setAside, ...database.all(STILL_TRIED, id, most - setAside.length)].map(failingFromRow)
  },

  attempts: (database, id, most) => database.all(LIST_ATTEMPTS, id, Math.min(most, MAX_ATTEMPTS)).map(attemptFromRow),

  minutes: (database, id, from) => database.all(LIST_MINUTES, id, from).map(minuteFromRow),
} satisfies Operations<WebhookStore>
