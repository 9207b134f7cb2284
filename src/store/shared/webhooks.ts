import { summaryFromRow } from '../sql/deliveries/rows.ts'
import { uuidFrom } from '../sql/uuid.ts'
import type {
  HeldWebhook,
  LoadedWebhook,
  WaitingDelivery,
  Webhook,
  WebhookAttempt,
  WebhookChange,
  WebhookMinute,
  WebhookPause,
} from '../store.ts'

/** A row of either database. The functions below read what both give under the same names. */
type Row = Readonly<Record<string, unknown>>

export const DAY_MILLISECONDS = 86_400_000
/** Attempts that are kept of one endpoint; for a while there may be a few more, which are not shown. */
export const MAX_ATTEMPTS = 500

const COLUMNS = `
  w.id, w.url, w.customer_id, w.statuses, w.duplicates, w.ca, w.give_up, w.created_at, w.secret, w.former_secret, w.former_until,
  w.paused_reason, w.paused_at, w.version, p.epoch, p.position, p.generation, p.confirmed, p.last_success_at, p.failing_since,
  p.next_try_at,
  (SELECT count(*) FROM webhook_waiting q WHERE q.webhook = w.id AND q.set_aside_at IS NULL) AS waiting,
  (SELECT count(*) FROM webhook_waiting q WHERE q.webhook = w.id AND q.set_aside_at IS NOT NULL) AS set_aside`

const SELECT = `SELECT ${COLUMNS} FROM webhook w JOIN webhook_progress p ON p.webhook = w.id`

export const FIND_WEBHOOK = `${SELECT} WHERE w.id = $1`
export const LIST_WEBHOOKS = `${SELECT} ORDER BY w.created_at, w.id`

export const LIST_ATTEMPTS = `
  SELECT at, position, receipt, status, error, milliseconds, response, next_at
    FROM webhook_attempt WHERE webhook = $1 ORDER BY number DESC LIMIT $2`

export const LIST_MINUTES = `
  SELECT minute, succeeded, failed, longest FROM webhook_minute WHERE webhook = $1 AND minute >= $2 ORDER BY minute`

/** Everything that belongs to an endpoint, the row that holders lock first. */
export const REMOVE_WEBHOOK = [
  'DELETE FROM webhook_progress WHERE webhook = $1',
  'DELETE FROM webhook_waiting WHERE webhook = $1',
  'DELETE FROM webhook_attempt WHERE webhook = $1',
  'DELETE FROM webhook_minute WHERE webhook = $1',
  'DELETE FROM webhook WHERE id = $1',
]

export const CHANGE_WEBHOOK = `
  UPDATE webhook
     SET paused_reason = $2, paused_at = $3, secret = $4, former_secret = $5, former_until = $6, version = version + 1
   WHERE id = $1`

/** Values for CHANGE_WEBHOOK. */
export function changedValues(webhook: Webhook, change: WebhookChange): (string | number | null)[] {
  const { paused = webhook.paused, secret = webhook.secret, formerSecret = webhook.formerSecret } = change
  return [
    webhook.id,
    paused?.reason ?? null,
    paused?.at ?? null,
    secret,
    formerSecret?.sealed ?? null,
    formerSecret?.until ?? null,
  ]
}

export const SET_PLACE = `
  UPDATE webhook_progress SET position = $2, generation = $3, epoch = epoch + 1, confirmed = '', next_try_at = NULL
   WHERE webhook = $1`

/** What lies after the place comes again. */
export const FORGET_WAITING =
  'DELETE FROM webhook_waiting WHERE webhook = $1 AND position > $2 AND set_aside_at IS NULL'

export const REPLAY_ONE = `
  INSERT INTO webhook_waiting (webhook, position, next_at, failures) VALUES ($1, $2, $3, 0)
  ON CONFLICT (webhook, position) DO UPDATE
     SET failures = 0, first_failed_at = NULL, next_at = excluded.next_at, set_aside_at = NULL, last_error = NULL`

export const REPLAY_SET_ASIDE = `
  UPDATE webhook_waiting SET failures = 0, first_failed_at = NULL, next_at = $2, set_aside_at = NULL, last_error = NULL
   WHERE webhook = $1 AND set_aside_at IS NOT NULL`

export const COUNT_VERSION = 'UPDATE webhook SET version = version + 1 WHERE id = $1'

export const webhookFromRow = (row: Row): Webhook => ({
  id: row.id as string,
  url: row.url as string,
  customerId: row.customer_id as string | null,
  statuses: row.statuses === null ? null : numbersOf(row.statuses as string),
  duplicates: Boolean(row.duplicates),
  ca: row.ca as string | null,
  giveUpMilliseconds: row.give_up as number | null,
  createdAt: row.created_at as number,
  secret: row.secret as string,
  formerSecret:
    row.former_secret === null ? null : { sealed: row.former_secret as string, until: row.former_until as number },
  paused: row.paused_at === null ? null : { reason: row.paused_reason as WebhookPause, at: row.paused_at as number },
  version: row.version as number,
  epoch: row.epoch as number,
  place: { position: row.position as number, generation: row.generation as number },
  lastSuccessAt: row.last_success_at as number | null,
  failingSince: row.failing_since as number | null,
  nextTryAt: row.next_try_at as number | null,
  waiting: row.waiting as number,
  setAside: row.set_aside as number,
})

const numbersOf = (text: string): number[] => (text === '' ? [] : text.split(',').map(Number))

/** Positions after `start` as they are stored: how far after it. */
export const offsetsColumn = (positions: readonly number[], start: number): string =>
  positions.map((position) => position - start).join()

export const loadedFromRows = (row: Row, waiting: readonly Row[]): LoadedWebhook => ({
  webhook: webhookFromRow(row),
  confirmed: numbersOf(row.confirmed as string).map((offset) => (row.position as number) + offset),
  waiting: waiting.map((each) => ({
    ...waitingFromRow(each),
    delivery: each.customer_id === null ? null : summaryFromRow(each),
  })),
})

const waitingFromRow = (row: Row): WaitingDelivery => ({
  position: row.position as number,
  failures: row.failures as number,
  firstFailedAt: row.first_failed_at as number | null,
  nextAt: row.next_at as number | null,
  setAsideAt: row.set_aside_at as number | null,
  lastError: row.last_error as string | null,
})

/** A purged delivery has no receipt: SQLite makes an empty text of it. */
export const failingFromRow = (row: Row): WaitingDelivery & { readonly receiptId: string | null } => ({
  ...waitingFromRow(row),
  receiptId: row.receipt ? uuidFrom(row.receipt as string) : null,
})

export const attemptFromRow = (row: Row): WebhookAttempt => ({
  at: row.at as number,
  position: row.position as number | null,
  receiptId: row.receipt as string | null,
  status: row.status as number | null,
  error: row.error as string | null,
  milliseconds: row.milliseconds as number,
  response: row.response as string | null,
  nextAt: row.next_at as number | null,
})

export const minuteFromRow = (row: Row): WebhookMinute => ({
  minute: row.minute as number,
  succeeded: row.succeeded as number,
  failed: row.failed as number,
  longestMilliseconds: row.longest as number,
})

export const heldFromRow = (row: Row): HeldWebhook => ({
  id: row.id as string,
  version: row.version as number,
  epoch: row.epoch as number,
  paused: Boolean(row.paused),
})
