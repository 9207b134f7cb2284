import type { SecretRewrap, WebhookStore } from '../../store.ts'
import type { Dialect } from '../dialect.ts'
import { all, get, type Noun, queue, run, scrub, snapshot, wipe, write } from '../work.ts'
import { lockProgress } from './leases.ts'
import { numbersColumn, WEBHOOKS, webhookFromRow } from './rows.ts'
import { waitingRows } from './waiting.ts'

const LIST = `${WEBHOOKS} ORDER BY w.created_at, w.id`
const FIND = `${WEBHOOKS} WHERE w.id = $1`

const INSERT = `
  INSERT INTO webhook (id, url, customer_id, statuses, ca, give_up, created_at, secret, duplicates, version)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 1)`

const INSERT_PROGRESS = `
  INSERT INTO webhook_progress (webhook, position, waiting, failing, set_aside, removed, journal_bytes)
  VALUES ($1, $2, 0, 0, 0, 0, 0)`

const CHANGE = `
  UPDATE webhook
     SET paused_reason = CASE WHEN $2 THEN $3 ELSE paused_reason END, paused_at = CASE WHEN $2 THEN $4 ELSE paused_at END,
         secret = coalesce($5, secret),
         former_secret = CASE WHEN $6 THEN $7 ELSE former_secret END,
         former_until = CASE WHEN $6 THEN $8 ELSE former_until END,
         version = version + 1
   WHERE id = $1`

/** Rows that are removed in one transaction, so that others do not wait long. */
const REMOVED_AT_ONCE = 5000

const REMOVE_CONFIRMED = `
  DELETE FROM webhook_confirmed WHERE (webhook, block, at) IN (
    SELECT webhook, block, at FROM webhook_confirmed WHERE webhook = $1 ORDER BY block, at LIMIT ${REMOVED_AT_ONCE})`

/** Everything that belongs to an endpoint, the row that holders lock first. */
const REMOVE = [
  ...['progress', 'waiting', 'confirmed', 'replay', 'attempt', 'minute'].map(
    (part) => `DELETE FROM webhook_${part} WHERE webhook = $1`,
  ),
  'DELETE FROM webhook WHERE id = $1',
]

const SECRETS: Record<SecretRewrap['which'], string> = { secret: 'secret', formerSecret: 'former_secret' }

export interface EndpointSteps extends Pick<WebhookStore, 'add' | 'list' | 'find' | 'pauseAll' | 'rewrap'> {
  /** Resolves to whether there is such an endpoint. */
  changeOne(...args: Parameters<WebhookStore['change']>): Promise<boolean>
  /** Removes some of what waits for an endpoint, and of its journal. Resolves to whether more may be left. */
  empty(id: string): Promise<boolean>
  removeOne: WebhookStore['remove']
}

export const endpoints = (dialect: Dialect): Noun<EndpointSteps> => {
  const { oneOf, among, forUpdate } = dialect
  const lock = lockProgress(dialect)
  const { removeLast } = waitingRows(dialect)
  const PAUSE_ALL = `
    UPDATE webhook SET paused_reason = $2, paused_at = $3, version = version + 1
     WHERE id ${oneOf(`
       SELECT id FROM webhook WHERE paused_at IS NULL AND (coalesce($1, '') = '' OR customer_id = $1) ORDER BY id ${forUpdate}`)}`
  const LOCK_SECRETS = `SELECT id, secret, former_secret FROM webhook WHERE id ${among('$1')} ORDER BY id ${forUpdate}`

  return {
    add: write(function* (webhook) {
      const { id, url, customerId, statuses, ca, giveUpMilliseconds, createdAt, secret, duplicates, position } = webhook
      const settings = [url, customerId, numbersColumn(statuses), ca, giveUpMilliseconds] as const
      yield* run(INSERT, id, ...settings, createdAt, secret, duplicates)
      yield* run(INSERT_PROGRESS, id, position)
    }),
    list: snapshot(function* () {
      return (yield* all(LIST)).map(webhookFromRow)
    }),
    find: snapshot(function* (id) {
      const row = yield* get(FIND, id)
      return row && webhookFromRow(row)
    }),
    changeOne: wipe(function* (id, { paused, secret, formerSecret }) {
      const pause = [paused !== undefined, paused?.reason ?? null, paused?.at ?? null] as const
      const former = [formerSecret !== undefined, formerSecret?.sealed ?? null, formerSecret?.until ?? null] as const
      return (yield* run(CHANGE, id, ...pause, secret ?? null, ...former)) > 0
    }),
    empty: queue(function* (id) {
      if ((yield* lock.these([id])).length === 0) return false
      const removed = yield* removeLast(id, REMOVED_AT_ONCE)
      return Math.max(removed, yield* run(REMOVE_CONFIRMED, id)) === REMOVED_AT_ONCE
    }),
    removeOne: wipe(function* (id) {
      let removed = 0
      for (const sql of REMOVE) removed = yield* run(sql, id)
      return removed > 0
    }),
    pauseAll: write(function* (reason, at, customerId) {
      return yield* run(PAUSE_ALL, customerId ?? null, reason, at)
    }),
    rewrap: scrub(function* (changes) {
      const rows = yield* all(LOCK_SECRETS, [...new Set(changes.map(({ id }) => id))])
      const found = new Map(rows.map((row) => [row.id, row]))
      if (!changes.every(({ id, which, from }) => found.get(id)?.[SECRETS[which]] === from)) return false
      for (const { id, which, to } of changes)
        yield* run(`UPDATE webhook SET ${SECRETS[which]} = $2, version = version + 1 WHERE id = $1`, id, to)
      return true
    }),
  }
}
