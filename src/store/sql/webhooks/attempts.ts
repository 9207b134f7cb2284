import { DAY_MILLISECONDS } from '#src/lib/duration.ts'
import type { NamedDelivery, WebhookAttempt, WebhookMinute, WebhookSave, WebhookStore } from '../../store.ts'
import { type Dialect, NO_LIMIT } from '../dialect.ts'
import { allAs, fields, find, isThere, type Noun, progress, queue, run, type Work } from '../work.ts'
import { deliveredAt, ORDER, storable, whole } from './rows.ts'

/** Attempts that are kept of one endpoint; for a while there may be a few more, which are not shown. */
const MAX_ATTEMPTS = 500
/** One in so many attempts causes the oldest to go, because that counts through those that stay. */
const TRIM_EVERY = 16
/** In one transaction. */
const EXPIRED_AT_ONCE = 1000

const ATTEMPT = `webhook text, at bigint, position bigint, receipt text, status bigint, error text, milliseconds bigint, \
response text, next_at bigint`

/** Adds attempts, and counts them, in a transaction that has locked the progress of the endpoints. */
export const attemptRows = ({ batch, joinOne, oneOf, skipLocked }: Dialect) => {
  /** An answer may hold what was sent, so it is not kept if nobody can tell whose delivery that was, nor if that was erased. */
  const add = batch(
    ATTEMPT,
    (v) => `
      INSERT INTO webhook_attempt (webhook, at, position, receipt, customer, status, error, milliseconds, response, next_at)
      SELECT v.webhook, v.at, v.position, v.receipt, c.number, v.status, v.error, v.milliseconds,
             CASE WHEN v.position IS NULL OR (c.erased_at IS NULL AND d.erased IS NULL AND c.number IS NOT NULL) THEN v.response END, v.next_at
        FROM ${v} ${joinOne('delivery', 'd', 'd.position = v.position')} LEFT JOIN customer c ON c.number = d.customer
      RETURNING webhook, number`,
  )
  /** Others that somebody is removing, such as an erasure, are left to them. */
  const TRIM = `
    DELETE FROM webhook_attempt WHERE number ${oneOf(`
      SELECT number FROM webhook_attempt
       WHERE webhook = $1
         AND number <= (SELECT number FROM webhook_attempt WHERE webhook = $1 ORDER BY number DESC LIMIT 1 OFFSET ${MAX_ATTEMPTS})
      ${skipLocked}`)}`

  function* addAttempts(all: readonly Pick<WebhookSave, 'id' | 'attempts'>[]): Work<void> {
    const added = yield* add(all.flatMap(({ id, attempts }) => attempts.map((each) => attemptColumns(id, each))))
    const full = new Set<string>()
    for (const { webhook, number } of added) if ((number as number) % TRIM_EVERY === 0) full.add(webhook as string)
    for (const id of full) yield* run(TRIM, id)
  }

  return { addAttempts }
}

export const COUNTED = 'webhook text, minute bigint, succeeded bigint, failed bigint, longest bigint'

export const countMinutes =
  ({ larger }: Dialect) =>
  (v: string): string =>
    `
      INSERT INTO webhook_minute AS kept (webhook, minute, succeeded, failed, longest)
      SELECT v.webhook, v.minute, v.succeeded, v.failed, v.longest FROM ${v} WHERE true
      ON CONFLICT (webhook, minute) DO UPDATE
         SET succeeded = kept.succeeded + excluded.succeeded, failed = kept.failed + excluded.failed,
             longest = ${larger('kept.longest', 'excluded.longest')}`

/** Each minute once, because PostgreSQL changes no row twice in a statement. */
export const minuteColumns = ({ id, minutes }: Pick<WebhookSave, 'id' | 'minutes'>) =>
  Array.from(
    Map.groupBy(minutes, ({ minute }) => minute),
    ([minute, parts]) =>
      [
        id,
        minute,
        parts.reduce((sum, { succeeded }) => sum + succeeded, 0),
        parts.reduce((sum, { failed }) => sum + failed, 0),
        Math.max(...parts.map(({ longestMilliseconds }) => Math.round(longestMilliseconds))),
      ] as const,
  )

const attemptColumns = (id: string, attempt: WebhookAttempt) => [
  id,
  whole(attempt.at),
  attempt.position,
  attempt.receiptId,
  attempt.status,
  storable(attempt.error),
  whole(attempt.milliseconds),
  storable(attempt.response),
  whole(attempt.nextAt),
]

export interface AttemptSteps extends Pick<WebhookStore, 'attempts' | 'recordAttempt' | 'minutes'> {
  /** Removes some of what is older than a day, of all endpoints. Resolves to whether more may be left. */
  expire(now: number): Promise<boolean>
}

export const attempts = (dialect: Dialect): Noun<AttemptSteps> => {
  const { oneOf, skipLocked } = dialect
  const { addAttempts } = attemptRows(dialect)
  const LIST = `
    SELECT a.at, a.position, a.receipt AS receipt_id, a.status, a.error, a.milliseconds, a.response, a.next_at, ${ORDER}
      FROM webhook_attempt a ${deliveredAt(dialect, 'a.position')}
     WHERE a.webhook = $1 ORDER BY a.number DESC LIMIT $2`
  const EXPIRE = `
    DELETE FROM webhook_attempt WHERE number ${oneOf(`
      SELECT number FROM webhook_attempt WHERE at < $1 ORDER BY at LIMIT ${EXPIRED_AT_ONCE} ${skipLocked}`)}`
  const OLD_MINUTES = (columns: string): string =>
    `SELECT ${columns} FROM webhook_minute WHERE minute < $1 ORDER BY minute LIMIT ${EXPIRED_AT_ONCE} ${skipLocked}`
  const MINUTES = `
    SELECT minute, succeeded, failed, longest AS longest_milliseconds FROM webhook_minute
     WHERE ${dialect.along('webhook', 'minute', '$2', `${NO_LIMIT}`)} ORDER BY webhook, minute`
  const EXPIRE_MINUTES = `DELETE FROM webhook_minute WHERE ${dialect.rows('webhook, minute', OLD_MINUTES)}`
  /** The lock keeps the endpoint from being removed meanwhile. */
  const LOCK = `SELECT webhook FROM webhook_progress WHERE webhook = $1 ${dialect.forUpdate}`
  return {
    attempts: find((id, most) => allAs(attemptFromRow, LIST, id, Math.min(most, MAX_ATTEMPTS))),
    recordAttempt: queue(function* (id, attempt) {
      if (yield* isThere(LOCK, id)) yield* addAttempts([{ id, attempts: [attempt] }])
    }),
    expire: progress(function* (now) {
      let most = 0
      for (const sql of [EXPIRE, EXPIRE_MINUTES]) most = Math.max(most, yield* run(sql, now - DAY_MILLISECONDS))
      return most === EXPIRED_AT_ONCE
    }),
    minutes: find((id, from) => allAs(minuteFromRow, MINUTES, id, from)),
  }
}

const attemptFromRow = fields<WebhookAttempt & NamedDelivery>()(
  'at position receiptId orderId status error milliseconds response nextAt',
)

const minuteFromRow = fields<WebhookMinute>()('minute succeeded failed longestMilliseconds')
