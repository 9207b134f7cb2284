import type { ApiKey, ApiKeyStore, KeySummary, ListedApiKey, Silent } from '../store.ts'
import {
  asciiLower,
  bumpAccountVersion,
  changeAccount,
  customerColumns,
  customerFromRow,
  walkEnd,
} from './customers.ts'
import { type Dialect, LAST_ID } from './dialect.ts'
import {
  allAs,
  change,
  fields,
  find,
  get,
  getAs,
  lookUp,
  type Noun,
  type Row,
  run,
  type Work,
  walk,
  write,
} from './work.ts'

const COLUMNS = `
  k.id AS key_id, c.id AS customer_id, k.hash, k.label, k.created_at AS key_created_at, k.expires_at, k.revoked_at,
  k.successor AS successor_id, k.networks, k.rate_limit`

const LISTED = (keys = 'api_key'): string => `
  SELECT ${COLUMNS}, u.used_at, u.address
    FROM ${keys} k JOIN customer c ON c.number = k.customer LEFT JOIN api_key_use u ON u.key_id = k.id`

const BY_ID = `${LISTED()} WHERE k.id = $1`
const LIST = `${LISTED()} ORDER BY k.id`
const LIST_OF = `${LISTED()} WHERE c.id = $1 ORDER BY k.id`
const PAGE = `${LISTED()} WHERE c.id = $1 AND k.id > $2 ORDER BY k.id LIMIT $3`

/** The inner query keeps the planner from walking through the uses of all keys before them. */
const WITH_PREFIX = `
  ${LISTED('(SELECT * FROM api_key WHERE id >= $1 AND id < $2 ORDER BY id LIMIT $3)')} ORDER BY k.id`

const INSERT = `
  INSERT INTO api_key (id, customer, hash, label, created_at, expires_at, revoked_at, networks, rate_limit)
  SELECT $1, number, $3, $4, $5, $6, $7, $8, $9 FROM customer WHERE id = $2`

/** A use that lies further in the future than the clocks of replicas differ is from before a clock was put back. */
const CLOCKS_DIFFER_MILLISECONDS = 60_000

const REVOKE = 'UPDATE api_key SET revoked_at = coalesce(revoked_at, $2) WHERE id = $1'

const CHANGE = `
  UPDATE api_key
     SET label = coalesce($2, label),
         expires_at = CASE WHEN $3 THEN $4 ELSE expires_at END,
         networks = CASE WHEN $5 THEN $6 ELSE networks END,
         rate_limit = CASE WHEN $7 THEN $8 ELSE rate_limit END
   WHERE id = $1 AND revoked_at IS NULL`

/** Whether there is a key `o` that is valid after `time`, and takes the place of key `k`. */
const HAS_SUCCESSOR = (time: string): string => `EXISTS (
  SELECT 1 FROM api_key o
   WHERE o.customer = k.customer AND o.revoked_at IS NULL AND (o.expires_at IS NULL OR o.expires_at > ${time})
     AND (o.id = k.successor OR k.label <> '' AND o.label = k.label AND o.created_at > k.created_at))`

const COUNT_EXPIRING = `
  SELECT count(*) AS count FROM api_key k JOIN customer c ON c.number = k.customer
   WHERE k.revoked_at IS NULL AND k.expires_at > $1 AND k.expires_at <= $2 AND c.enabled
     AND NOT ${HAS_SUCCESSOR('k.expires_at')}`

const COUNTS = `
  max(used_at) AS last_used_at,
  count(*) FILTER (WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)) AS live,
  count(*) FILTER (WHERE open AND expires_at > $2) AS expiring,
  count(*) FILTER (WHERE open AND expires_at <= $2) AS expired`

/**
 * Who is silent at $1, among customers that fit. $2 is the silence of those without their own. A customer without keys has no `since`.
 * Rules are looked up customer by customer, by min(): in a join, or with LIMIT, a server without statistics would read all of them.
 */
const SILENT = (which: string): string => `
  SELECT id, used_at IS NOT NULL AS heard, coalesce(used_at, made_at) AS since
    FROM (SELECT c.id, coalesce(c.silence, $2) AS silence,
                 (SELECT max((SELECT used_at FROM api_key_use WHERE key_id = k.id))
                    FROM api_key k WHERE k.customer = c.number) AS used_at,
                 (SELECT min(created_at) FROM api_key k WHERE k.customer = c.number) AS made_at
            FROM customer c
           WHERE ${which} AND c.enabled AND coalesce(c.silence, $2) > 0
             AND (SELECT min(rule) FROM authority_rule WHERE customer = c.number) IS NOT NULL) watched
   WHERE coalesce(used_at, made_at) <= $1 - silence
   ORDER BY id`

const IS_WATCHED =
  'SELECT 1 AS one FROM customer WHERE id > $2 AND id <= $3 AND enabled AND coalesce(silence, $1) > 0 LIMIT 1'

function* insert(key: ApiKey): Work<void> {
  const { id, customerId, hash, label, createdAt, expiresAt, revokedAt, networks, rateLimit } = key
  const limits = [networksColumn(networks), rateLimit] as const
  if ((yield* run(INSERT, id, customerId, hash, label, createdAt, expiresAt, revokedAt, ...limits)) === 0)
    throw new Error(`no customer ${customerId} for key ${id}`)
}

export const apiKeys = (dialect: Dialect): Noun<ApiKeyStore> => {
  const { among, batch, contains, larger, smaller, pick } = dialect
  const BY_HASH = `
    SELECT ${COLUMNS}, ${customerColumns(dialect)} FROM api_key k JOIN customer c ON c.number = k.customer WHERE k.hash = $1`
  const END = `
    UPDATE api_key SET expires_at = ${smaller('coalesce(expires_at, $2)', '$2')}, successor = $3
     WHERE id = $1 AND successor IS NULL AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $4)`
  const KEYS = `
    k.revoked_at, k.expires_at, (SELECT used_at FROM api_key_use WHERE key_id = k.id) AS used_at,
    k.revoked_at IS NULL AND k.expires_at <= $3 AND NOT ${HAS_SUCCESSOR(larger('k.expires_at', '$2'))} AS open`
  const SUMMARIES = pick({
    sqlite: `
      SELECT customer_id, ${COUNTS}
        FROM (SELECT c.id AS customer_id, ${KEYS}
                FROM json_each($1) CROSS JOIN customer c ON c.id = json_each.value JOIN api_key k ON k.customer = c.number)
       GROUP BY customer_id`,
    // Customer by customer: in a join of them all, a server without statistics would read every key there is.
    postgres: `
      SELECT c.id AS customer_id, s.*
        FROM customer c CROSS JOIN LATERAL (
          SELECT count(*) AS keys, ${COUNTS} FROM (SELECT ${KEYS} FROM api_key k WHERE k.customer = c.number) key
        ) s
       WHERE c.id = ANY ($1::text[]) AND s.keys > 0`,
  })
  const WALK_END = walkEnd(dialect)
  const LABELLED_END = walkEnd(dialect, 'api_key')
  const LABELLED = `
    ${LISTED(`(SELECT * FROM api_key WHERE id > $1 AND id <= $2 AND ${contains(asciiLower(dialect, 'label'), '$3')} ORDER BY id LIMIT $4)`)}
     ORDER BY k.id`
  const SILENT_AFTER = SILENT('c.id > $3 AND c.id <= $4')
  const SILENT_AMONG = SILENT(`c.id ${among('$3')}`)
  /** Sorted, so that two replicas that record uses of the same keys cannot deadlock. */
  const recordUses = batch(
    'key_id text, used_at bigint, address text, latest bigint',
    (v) => `
      INSERT INTO api_key_use AS kept (key_id, used_at, address)
      SELECT v.key_id, v.used_at, v.address FROM ${v} JOIN api_key k ON k.id = v.key_id
       WHERE k.revoked_at IS NULL
       ORDER BY v.key_id
      ON CONFLICT (key_id) DO UPDATE SET used_at = excluded.used_at, address = excluded.address
       WHERE excluded.used_at > kept.used_at OR kept.used_at > (SELECT max(v.latest) FROM ${v})`,
  )

  return {
    insert: write(function* (key) {
      yield* bumpAccountVersion()
      yield* insert(key)
    }),
    findByHash: lookUp((hash) =>
      getAs((row) => ({ key: apiKeyFromRow(row), customer: customerFromRow(row) }), BY_HASH, hash),
    ),
    findById: find((id) => getAs(listedKeyFromRow, BY_ID, id)),
    withPrefix: find((prefix, limit) => allAs(listedKeyFromRow, WITH_PREFIX, prefix, `${prefix}${LAST_ID}`, limit)),
    labelled: walk(function* (part, afterId, { limit, scan }) {
      const end = (yield* get(LABELLED_END, afterId, scan - 1))?.id as string | undefined
      const keys = yield* allAs(listedKeyFromRow, LABELLED, afterId, end ?? LAST_ID, part, limit)
      return { keys, next: (keys.length === limit ? keys.at(-1)?.id : end) ?? null }
    }),
    list: find((customerId) =>
      customerId === undefined ? allAs(listedKeyFromRow, LIST) : allAs(listedKeyFromRow, LIST_OF, customerId),
    ),
    page: walk((customerId, { afterId = '', limit }) => allAs(listedKeyFromRow, PAGE, customerId, afterId, limit)),
    revoke: write((id, revokedAt) => changeAccount(REVOKE, id, revokedAt)),
    change: write((id, { label = null, expiresAt, networks, rateLimit }) => {
      const changes = [expiresAt, networksColumn(networks), rateLimit]
      return changeAccount(CHANGE, id, label, ...changes.flatMap((value) => [value !== undefined, value ?? null]))
    }),
    rotate: write(function* (id, successor, { now, endsAt }) {
      const ended = yield* changeAccount(END, id, endsAt, successor.id, now)
      if (ended) yield* insert(successor)
      return ended
    }),
    recordUses: change(function* (uses, now) {
      const latest = now + CLOCKS_DIFFER_MILLISECONDS
      yield* recordUses(uses.map(({ keyId, usedAt, address }) => [keyId, usedAt, address, latest]))
    }),
    countExpiring: walk(function* (from, to) {
      return Number((yield* get(COUNT_EXPIRING, from, to))?.count)
    }),
    summaries: walk((customerIds, { now, soon }) => allAs(keySummaryFromRow, SUMMARIES, customerIds, now, soon)),
    silentAfter: walk(function* (afterId, scan, { now, silence }) {
      const end = (yield* get(WALK_END, afterId, scan - 1))?.id as string | undefined
      const isWatched = (yield* get(IS_WATCHED, silence, afterId, end ?? LAST_ID)) !== undefined
      const silent = isWatched ? yield* allAs(silentFromRow, SILENT_AFTER, now, silence, afterId, end ?? LAST_ID) : []
      return { silent, isWatched, next: end ?? null }
    }),
    silentAmong: walk((customerIds, { now, silence }) => allAs(silentFromRow, SILENT_AMONG, now, silence, customerIds)),
  }
}

const keyFields = fields<Omit<ApiKey, 'id' | 'createdAt' | 'networks'>>()(
  'customerId hash label expiresAt revokedAt successorId rateLimit',
)

const apiKeyFromRow = (row: Row): ApiKey => ({
  ...keyFields(row),
  id: row.key_id as string,
  createdAt: row.key_created_at as number,
  networks: networksOfColumn(row.networks as string | null),
})

const networksOfColumn = (text: string | null): string[] | null => text?.split(',') ?? null

/** The networks of a key as they stand in its row. */
const networksColumn = <None extends null | undefined>(networks: readonly string[] | None): string | None =>
  networks ? networks.join() : (networks as None)

function listedKeyFromRow(row: Row): ListedApiKey {
  const key = apiKeyFromRow(row)
  const used = typeof row.used_at === 'number'
  return {
    ...key,
    lastUse: used ? { keyId: key.id, usedAt: row.used_at as number, address: row.address as string } : null,
  }
}

const keySummaryFromRow = fields<KeySummary>()('customerId live expiring expired lastUsedAt')

const silentFromRow = (row: Row): Silent => ({
  customerId: row.id as string,
  since: row.since as number,
  everHeard: Boolean(row.heard),
})
