import type { WebhookAttempt, WebhookMinute, WebhookStore } from '../../store.ts'
import type { Dialect } from '../dialect.ts'
import { all, find, get, type Noun, queue, type Row, run, type Work } from '../work.ts'
import { storable, whole } from './rows.ts'

const DAY_MILLISECONDS = 86_400_000
/** Attempts that are kept of one endpoint; for a while there may be a few more, which are not shown. */
const MAX_ATTEMPTS = 500
/** One in so many attempts causes the oldest to go, because that counts through those that stay. */
const TRIM_EVERY = 16
/** Bounds what one save removes of other endpoints. */
const EXPIRED_AT_ONCE = 1000

const LIST = `
  SELECT at, position, receipt, status, error, milliseconds, response, next_at
    FROM webhook_attempt WHERE webhook = $1 ORDER BY number DESC LIMIT $2`

const MINUTES = `
  SELECT minute, succeeded, failed, longest FROM webhook_minute WHERE webhook = $1 AND minute >= $2 ORDER BY minute`

const ATTEMPT = `webhook text, at bigint, position bigint, receipt text, status bigint, error text, milliseconds bigint, \
response text, next_at bigint`

interface OfEndpoint {
  readonly id: string
  readonly attempts: readonly WebhookAttempt[]
  readonly minutes: readonly WebhookMinute[]
}

/** Adds attempts, and counts them, in a transaction that has locked the progress of the endpoints. */
export const attemptRows = ({ batch, joinOne, oneOf, larger, skipLocked }: Dialect) => {
  /** An answer may hold what was sent, so it is not kept if nobody can tell whose delivery that was, nor for an erased customer. */
  const add = batch(
    ATTEMPT,
    (v) => `
      INSERT INTO webhook_attempt (webhook, at, position, receipt, customer, status, error, milliseconds, response, next_at)
      SELECT v.webhook, v.at, v.position, v.receipt, c.number, v.status, v.error, v.milliseconds,
             CASE WHEN v.position IS NULL OR (c.number IS NOT NULL AND c.erased_at IS NULL) THEN v.response END, v.next_at
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
  const EXPIRE = `
    DELETE FROM webhook_attempt WHERE number ${oneOf(`
      SELECT number FROM webhook_attempt WHERE at < $1 ORDER BY at LIMIT ${EXPIRED_AT_ONCE} ${skipLocked}`)}`
  const EXPIRE_MINUTES = `
    DELETE FROM webhook_minute WHERE (webhook, minute) IN (
      SELECT webhook, minute FROM webhook_minute WHERE minute < $1 ORDER BY minute LIMIT ${EXPIRED_AT_ONCE} ${skipLocked})`
  const count = batch(
    'webhook text, minute bigint, succeeded bigint, failed bigint, longest bigint',
    (v) => `
      INSERT INTO webhook_minute AS kept (webhook, minute, succeeded, failed, longest)
      SELECT v.webhook, v.minute, v.succeeded, v.failed, v.longest FROM ${v} WHERE true
      ON CONFLICT (webhook, minute) DO UPDATE
         SET succeeded = kept.succeeded + excluded.succeeded, failed = kept.failed + excluded.failed,
             longest = ${larger('kept.longest', 'excluded.longest')}
      RETURNING succeeded + failed AS attempts`,
  )

  function* addAttempts(all: readonly OfEndpoint[]): Work<void> {
    const added = yield* add(all.flatMap(({ id, attempts }) => attempts.map((each) => attemptColumns(id, each))))
    const full = new Set<string>()
    for (const { webhook, number } of added) if ((number as number) % TRIM_EVERY === 0) full.add(webhook as string)
    for (const id of full) yield* run(TRIM, id)
  }

  return {
    addAttempts,
    *store(all: readonly OfEndpoint[], now: number): Work<void> {
      yield* addAttempts(all)
      const minutes = all.flatMap(minuteColumns)
      const counted = yield* count(minutes)
      // Something may have expired once a minute, when the first attempt of one is counted.
      if (counted.every(({ attempts }, index) => attempts !== attemptsIn(minutes[index]))) return
      for (const sql of [EXPIRE, EXPIRE_MINUTES]) yield* run(sql, now - DAY_MILLISECONDS)
    },
  }
}

type MinuteColumns = readonly [id: string, minute: number, succeeded: number, failed: number, longest: number]

const attemptsIn = (columns: MinuteColumns | undefined): number => (columns === undefined ? 0 : columns[2] + columns[3])

/** Each minute once, because PostgreSQL changes no row twice in a statement. */
const minuteColumns = ({ id, minutes }: OfEndpoint): MinuteColumns[] =>
  Array.from(
    Map.groupBy(minutes, ({ minute }) => minute),
    ([minute, parts]) => [
      id,
      minute,
      parts.reduce((sum, { succeeded }) => sum + succeeded, 0),
      parts.reduce((sum, { failed }) => sum + failed, 0),
      Math.max(...parts.map(({ longestMilliseconds }) => Math.round(longestMilliseconds))),
    ],
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

export const attempts = (dialect: Dialect): Noun<Pick<WebhookStore, 'attempts' | 'recordAttempt' | 'minutes'>> => {
  const { addAttempts } = attemptRows(dialect)
  /** The lock keeps the endpoint from being removed meanwhile. */
  const LOCK = `SELECT webhook FROM webhook_progress WHERE webhook = $1 ${dialect.forUpdate}`
  return {
    attempts: find(function* (id, most) {
      return (yield* all(LIST, id, Math.min(most, MAX_ATTEMPTS))).map(attemptFromRow)
    }),
    recordAttempt: queue(function* (id, attempt) {
      if ((yield* get(LOCK, id)) !== undefined) yield* addAttempts([{ id, attempts: [attempt], minutes: [] }])
    }),
    minutes: find(function* (id, from) {
      return (yield* all(MINUTES, id, from)).map(minuteFromRow)
    }),
  }
}

const attemptFromRow = (row: Row): WebhookAttempt => ({
  at: row.at as number,
  position: row.position as number | null,
  receiptId: row.receipt as string | null,
  status: row.status as number | null,
  error: row.error as string | null,
  milliseconds: row.milliseconds as number,
  response: row.response as string | null,
  nextAt: row.next_at as number | null,
})

const minuteFromRow = (row: Row): WebhookMinute => ({
  minute: row.minute as number,
  succeeded: row.succeeded as number,
  failed: row.failed as number,
  longestMilliseconds: row.longest as number,
})
