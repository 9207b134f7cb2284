import { isDeepStrictEqual } from 'node:util'
import type {
  FormerWebhookFilter,
  SecretRewrap,
  Webhook,
  WebhookChange,
  WebhookFilter,
  WebhookStore,
} from '../../store.ts'
import type { Dialect } from '../dialect.ts'
import {
  all,
  allAs,
  change,
  changed,
  get,
  getAs,
  type Noun,
  queue,
  run,
  scrub,
  snapshot,
  wipe,
  write,
} from '../work.ts'
import { lockProgress } from './leases.ts'
import { type Changeable, changeableFromRow, numbersColumn, WEBHOOK_BY_ID, WEBHOOKS, webhookFromRow } from './rows.ts'
import { waitingRows } from './waiting.ts'

const LIST = `${WEBHOOKS} ORDER BY w.created_at, w.id`

const INSERT = `
  INSERT INTO webhook (id, url, customer_id, statuses, ca, give_up, created_at, secret, duplicates, version)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 1)`

const INSERT_PROGRESS = `
  INSERT INTO webhook_progress (webhook, position, waiting, failing, set_aside, removed, journal_bytes)
  VALUES ($1, $2, 0, 0, 0, 0, 0)`

const CHANGE = `
  UPDATE webhook
     SET url = $2, customer_id = $3, statuses = $4, duplicates = $5, ca = $6, give_up = $7, secret = $8, former_secret = $9,
         former_until = $10, headers = $11, former_filter = $12, paused_reason = $13, paused_at = $14, version = version + 1
   WHERE id = $1`

const BEGIN_FILTER = 'UPDATE webhook SET former_filter = $3 WHERE id = $1 AND version = $2'

/** Rows that are removed in one transaction, so that others do not wait long. */
const REMOVED_AT_ONCE = 5000

/** Everything that belongs to an endpoint, the row that holders lock first. */
const REMOVE = [
  ...['progress', 'waiting', 'confirmed', 'replay', 'attempt', 'minute'].map(
    (part) => `DELETE FROM webhook_${part} WHERE webhook = $1`,
  ),
  'DELETE FROM webhook WHERE id = $1',
]

const SECRETS: Record<SecretRewrap['which'], string> = {
  secret: 'secret',
  formerSecret: 'former_secret',
  headers: 'headers',
}

const MAX_FORMER_FILTERS = 100

const filterOf = ({ customerId, statuses, duplicates }: WebhookFilter): WebhookFilter => ({
  customerId,
  statuses,
  duplicates,
})

/** Nothing was sent by a filter that nobody has loaded. */
function formerAfter(was: Changeable, is: Changeable): readonly FormerWebhookFilter[] {
  const filter = filterOf(was)
  if (isDeepStrictEqual(filter, filterOf(is)) || was.formerFilters.at(-1)?.until === null) return was.formerFilters
  return [...was.formerFilters, { ...filter, until: null }].slice(-MAX_FORMER_FILTERS)
}

/** The last one ends at a position, unless it began there. */
function endedAt(position: number, filters: readonly FormerWebhookFilter[]): FormerWebhookFilter[] {
  const last = filters.at(-1)
  const before = filters.slice(0, -1)
  const began = before.at(-1)?.until ?? 0
  return last === undefined || began === position ? before : [...before, { ...last, until: position }]
}

const filtersColumn = (filters: readonly FormerWebhookFilter[]): string | null =>
  filters.length === 0 ? null : JSON.stringify(filters)

/** What a change names. */
const given = ({ headers, ...change }: WebhookChange) =>
  Object.fromEntries(
    Object.entries({ ...change, headers: headers?.to }).filter(([, value]) => value !== undefined),
  ) as Partial<Changeable>

export interface EndpointSteps extends Pick<WebhookStore, 'add' | 'list' | 'find' | 'pauseAll' | 'rewrap'> {
  /** Resolves to whether there is such an endpoint, with such headers. */
  changeOne(...args: Parameters<WebhookStore['change']>): Promise<boolean>
  /** Ends the filter that was changed last, at the position from which on another is in force. Resolves to whether the version is this one. */
  beginFilter(webhook: Webhook): Promise<boolean>
  /** Removes some of what waits for an endpoint, and of its journal. Resolves to whether more may be left. */
  empty(id: string): Promise<boolean>
  removeOne: WebhookStore['remove']
}

export const endpoints = (dialect: Dialect): Noun<EndpointSteps> => {
  const { oneOf, among, forUpdate, rows } = dialect
  const lock = lockProgress(dialect)
  const { removeLast } = waitingRows(dialect)
  const PAUSE_ALL = `
    UPDATE webhook SET paused_reason = $2, paused_at = $3, version = version + 1
     WHERE id ${oneOf(`
       SELECT id FROM webhook WHERE paused_at IS NULL AND (coalesce($1, '') = '' OR customer_id = $1) ORDER BY id ${forUpdate}`)}`
  const CONFIRMED = (columns: string): string =>
    `SELECT ${columns} FROM webhook_confirmed WHERE webhook = $1 ORDER BY block, at LIMIT ${REMOVED_AT_ONCE}`
  const REMOVE_CONFIRMED = `DELETE FROM webhook_confirmed WHERE ${rows('webhook, block, at', CONFIRMED)}`
  const LOCK = `
    SELECT url, customer_id, statuses, duplicates, ca, give_up, secret, former_secret, former_until, headers, former_filter,
           paused_reason, paused_at
      FROM webhook WHERE id = $1 ${forUpdate}`
  const LOCK_SECRETS = `SELECT id, secret, former_secret, headers FROM webhook WHERE id ${among('$1')} ORDER BY id ${forUpdate}`

  return {
    add: write(function* (webhook) {
      const { id, url, customerId, statuses, ca, giveUpMilliseconds, createdAt, secret, duplicates, position } = webhook
      const settings = [url, customerId, numbersColumn(statuses), ca, giveUpMilliseconds] as const
      yield* run(INSERT, id, ...settings, createdAt, secret, duplicates)
      yield* run(INSERT_PROGRESS, id, position)
    }),
    list: snapshot(() => allAs(webhookFromRow, LIST)),
    find: snapshot((id) => getAs(webhookFromRow, WEBHOOK_BY_ID, id)),
    changeOne: wipe(function* (id, wanted) {
      const row = yield* get(LOCK, id)
      const was = row && changeableFromRow(row)
      if (was === undefined || (wanted.headers !== undefined && wanted.headers.from !== was.headers)) return false
      const is = { ...was, ...given(wanted) }
      const { url, customerId, statuses, duplicates, ca, giveUpMilliseconds, secret, formerSecret, headers, paused } =
        is
      const settings = [url, customerId, numbersColumn(statuses), duplicates, ca, giveUpMilliseconds] as const
      const secrets = [secret, formerSecret?.sealed ?? null, formerSecret?.until ?? null, headers] as const
      const pause = [paused?.reason ?? null, paused?.at ?? null] as const
      yield* run(CHANGE, id, ...settings, ...secrets, filtersColumn(formerAfter(was, is)), ...pause)
      return true
    }),
    beginFilter: change(({ id, version, position, formerFilters }) =>
      changed(BEGIN_FILTER, id, version, filtersColumn(endedAt(position, formerFilters))),
    ),
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
    pauseAll: write((reason, at, customerId) => run(PAUSE_ALL, customerId ?? null, reason, at)),
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
