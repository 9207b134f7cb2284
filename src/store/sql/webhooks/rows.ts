import type {
  DueDelivery,
  FormerWebhookFilter,
  NamedDelivery,
  WaitingDelivery,
  Webhook,
  WebhookPause,
  WebhookReplay,
} from '../../store.ts'
import type { Dialect } from '../dialect.ts'
import { uuidFrom } from '../uuid.ts'
import { fields, type Row } from '../work.ts'

const COLUMNS = `
  w.id, w.url, w.customer_id, w.statuses, w.duplicates, w.ca, w.give_up, w.created_at, w.secret, w.former_secret, w.former_until,
  w.headers, w.former_filter,
  w.paused_reason, w.paused_at, w.version, p.position, p.waiting, p.failing, p.set_aside, p.removed AS removed_unsent, p.last_success_at,
  p.failing_since, p.silent_until,
  coalesce(p.silent_until, (
    SELECT q.next_at FROM webhook_waiting q WHERE q.webhook = w.id AND q.next_at IS NOT NULL ORDER BY q.next_at LIMIT 1
  )) AS next_try_at,
  r.from_after, r.until AS replay_until, r.position AS replay_position, r.statuses AS replay_statuses, r.began_at, r.added`

/** Reads what waits, so it belongs into the modes that find rows by indexes. */
export const WEBHOOKS = `
  SELECT ${COLUMNS}
    FROM webhook w JOIN webhook_progress p ON p.webhook = w.id LEFT JOIN webhook_replay r ON r.webhook = w.id`
export const WEBHOOK_BY_ID = `${WEBHOOKS} WHERE w.id = $1`

/** Of `webhook_waiting w`. */
export const WAITING = `
  w.position, w.lane, w.failures, w.first_failed_at, w.next_at, w.set_aside_at, w.last_error, w.answered`

/** What operators can change. */
export const changeableFromRow = (row: Row) => ({
  url: row.url as string,
  customerId: row.customer_id as string | null,
  statuses: numbersOf(row.statuses),
  duplicates: Boolean(row.duplicates),
  ca: row.ca as string | null,
  giveUpMilliseconds: row.give_up as number | null,
  secret: row.secret as string,
  formerSecret:
    row.former_secret === null ? null : { sealed: row.former_secret as string, until: row.former_until as number },
  headers: row.headers as string | null,
  formerFilters: (row.former_filter === null ? [] : JSON.parse(row.former_filter as string)) as FormerWebhookFilter[],
  paused: row.paused_at === null ? null : { reason: row.paused_reason as WebhookPause, at: row.paused_at as number },
})

export type Changeable = ReturnType<typeof changeableFromRow>

const progressFields = fields<Omit<Webhook, keyof Changeable | 'replay'>>()(
  'id createdAt version position lastSuccessAt failingSince nextTryAt silentUntil waiting failing setAside removedUnsent',
)

export const webhookFromRow = (row: Row): Webhook => ({
  ...changeableFromRow(row),
  ...progressFields(row),
  replay: row.began_at === null ? null : replayFromRow(row),
})

const replayFromRow = (row: Row): WebhookReplay => ({
  from: row.from_after as number,
  until: row.replay_until as number,
  position: row.replay_position as number,
  statuses: numbersOf(row.replay_statuses),
  beganAt: row.began_at as number,
  added: row.added as number,
})

/** Numbers as they stand in a column. */
export const numbersColumn = (numbers: readonly number[] | null): string | null => numbers?.join() ?? null

export const numbersOf = (text: unknown): number[] | null =>
  text === null ? null : String(text).split(',').filter(Boolean).map(Number)

const waitingFields = fields<Omit<WaitingDelivery, 'answered'>>()(
  'position lane failures firstFailedAt nextAt setAsideAt lastError',
)

export const waitingFromRow = (row: Row): WaitingDelivery => ({
  ...waitingFields(row),
  answered: Boolean(row.answered),
})

/** Joins the delivery `d` at a position. Its order id is erased with its customer `c`. */
export const deliveredAt = ({ joinOne }: Dialect, position: string): string =>
  `${joinOne('delivery', 'd', `d.position = ${position}`)} ${joinOne('customer', 'c', 'c.number = d.customer AND c.erased_at IS NULL')}`
export const ORDER = 'CASE WHEN c.number IS NOT NULL THEN d.order_id END AS order_id'

export const orderFromRow = ({ order_id }: Row): Pick<NamedDelivery, 'orderId'> => ({
  orderId: order_id as string | null,
})

/** A purged delivery has no receipt: SQLite makes an empty text of it. */
export const receiptFromRow = ({ receipt }: Row): string | null => (receipt ? uuidFrom(receipt as string) : null)

export const dueFromRow = (row: Row): DueDelivery => ({
  ...waitingFromRow(row),
  receiptId: receiptFromRow(row),
  receivedAt: row.received_at as number | null,
})

/** Times and pauses are computed with fractions; the columns take none. */
export const whole = (time: number | null): number | null => (time === null ? null : Math.round(time))

/** PostgreSQL stores neither NUL nor half of a surrogate pair. */
export const storable = (text: string | null): string | null => text?.toWellFormed().replaceAll('\0', '\ufffd') ?? null
