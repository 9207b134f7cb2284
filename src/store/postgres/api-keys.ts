import { apiKeyFromRow, keySummaryFromRow, listedKeyFromRow, networksColumn } from '../shared/rows.ts'
import { USES_DIFFER_MILLISECONDS } from '../shared/times.ts'
import { LAST_ID } from '../shared/walks.ts'
import type { ApiKeyStore } from '../store.ts'
import { CUSTOMER_COLUMNS, type CustomerNumbers, countVersion, customerFromRow } from './customers.ts'
import { columnsOf, type Database } from './database.ts'

const KEY_COLUMNS = `
  k.id AS key_id, c.id AS customer_id, k.hash, k.label, k.created_at AS key_created_at, k.expires_at, k.revoked_at,
  k.successor, k.networks, k.rate_limit`

const BY_HASH = `
  SELECT ${KEY_COLUMNS}, c.number, ${CUSTOMER_COLUMNS} FROM api_key k JOIN customer c ON c.number = k.customer WHERE k.hash = $1`

const LIST = `
  SELECT ${KEY_COLUMNS}, u.used_at, u.address
    FROM api_key k JOIN customer c ON c.number = k.customer LEFT JOIN api_key_use u ON u.key_id = k.id
   ORDER BY k.id`

const BY_ID = `
  SELECT ${KEY_COLUMNS}, u.used_at, u.address
    FROM api_key k JOIN customer c ON c.number = k.customer LEFT JOIN api_key_use u ON u.key_id = k.id
   WHERE k.id = $1`

/** The inner query keeps the planner from walking through the uses of all keys before them. */
const WITH_PREFIX = `
  SELECT ${KEY_COLUMNS}, u.used_at, u.address
    FROM (SELECT * FROM api_key WHERE id >= $1 AND id < $2 ORDER BY id LIMIT $3) k
    JOIN customer c ON c.number = k.customer LEFT JOIN api_key_use u ON u.key_id = k.id
   ORDER BY k.id`

const PAGE = `
  SELECT ${KEY_COLUMNS}, u.used_at, u.address
    FROM customer c JOIN api_key k ON k.customer = c.number LEFT JOIN api_key_use u ON u.key_id = k.id
   WHERE c.id = $1 AND k.id > $2
   ORDER BY k.id
   LIMIT $3`

const INSERT = `
  WITH ${countVersion}, inserted AS (
    INSERT INTO api_key (id, customer, hash, label, created_at, expires_at, revoked_at, networks, rate_limit)
    SELECT $1, number, $2, $3, $4, $5, $6, $8, $9 FROM customer WHERE id = $7
    RETURNING 1
  )
  SELECT FROM inserted`

const REVOKE = `
  WITH ${countVersion}, revoked AS (
    UPDATE api_key SET revoked_at = coalesce(revoked_at, $1) WHERE id = $2 RETURNING 1
  )
  SELECT FROM revoked`

const CHANGE = `
  WITH ${countVersion}, changed AS (
    UPDATE api_key
       SET label = coalesce($2, label),
           expires_at = CASE WHEN $3 THEN $4 ELSE expires_at END,
           networks = CASE WHEN $5 THEN $6 ELSE networks END,
           rate_limit = CASE WHEN $7 THEN $8 ELSE rate_limit END
     WHERE id = $1 AND revoked_at IS NULL
    RETURNING 1
  )
  SELECT FROM changed`

const ROTATE = `
  WITH ${countVersion}, ended AS (
    UPDATE api_key SET expires_at = least(expires_at, $1), successor = $2
     WHERE id = $3 AND successor IS NULL AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $4)
    RETURNING customer
  ), inserted AS (
    INSERT INTO api_key (id, customer, hash, label, created_at, expires_at, networks, rate_limit)
    SELECT $2, customer, $5, $6, $7, $8, $9, $10 FROM ended
    RETURNING 1
  )
  SELECT FROM inserted`

const COUNT_EXPIRING = `
  SELECT count(*)::int AS count FROM api_key k JOIN customer c ON c.number = k.customer
   WHERE k.revoked_at IS NULL AND k.expires_at > $1 AND k.expires_at <= $2 AND c.enabled
     AND NOT EXISTS (
       SELECT 1 FROM api_key o
        WHERE o.customer = k.customer AND o.revoked_at IS NULL AND (o.expires_at IS NULL OR o.expires_at > k.expires_at)
          AND (o.id = k.successor OR k.label <> '' AND o.label = k.label AND o.created_at > k.created_at))`

/** Customer by customer: in a join of them all, a server without statistics would read every key there is. */
const SUMMARIES = `
  SELECT c.id AS customer_id, s.*
    FROM customer c CROSS JOIN LATERAL (
      SELECT count(*) AS keys, max(used_at) AS last_used_at,
             count(*) FILTER (WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)) AS live,
             count(*) FILTER (WHERE open AND expires_at > $2) AS expiring,
             count(*) FILTER (WHERE open AND expires_at <= $2) AS expired
        FROM (
          SELECT k.revoked_at, k.expires_at, (SELECT used_at FROM api_key_use WHERE key_id = k.id) AS used_at,
                 k.revoked_at IS NULL AND k.expires_at <= $3 AND NOT EXISTS (
                   SELECT 1 FROM api_key o
                    WHERE o.customer = k.customer AND o.revoked_at IS NULL
                      AND (o.expires_at IS NULL OR o.expires_at > greatest(k.expires_at, $2))
                      AND (o.id = k.successor OR k.label <> '' AND o.label = k.label AND o.created_at > k.created_at))
                 AS open
            FROM api_key k WHERE k.customer = c.number) key
    ) s
   WHERE c.id = ANY ($1::text[]) AND s.keys > 0`

/** ORDER BY key_id, so that two replicas that record uses of the same keys cannot deadlock. */
const RECORD_USES = `
  INSERT INTO api_key_use AS kept (key_id, used_at, address)
  SELECT used.* FROM unnest($1::text[], $2::bigint[], $3::text[]) AS used (key_id, used_at, address)
    JOIN api_key k ON k.id = used.key_id AND k.revoked_at IS NULL
   ORDER BY key_id
  ON CONFLICT (key_id) DO UPDATE SET used_at = excluded.used_at, address = excluded.address
   WHERE excluded.used_at > kept.used_at OR excluded.used_at < kept.used_at - ${USES_DIFFER_MILLISECONDS}`

export function postgresApiKeys({ query, lookUp }: Database, numbers: CustomerNumbers): ApiKeyStore {
  return {
    async insert({ id, customerId, hash, label, createdAt, expiresAt, revokedAt, networks, rateLimit }) {
      const key = [id, Buffer.from(hash), label, createdAt, expiresAt, revokedAt, customerId]
      const values = [...key, networksColumn(networks), rateLimit]
      if ((await query(INSERT, ...values)).count === 0) throw new Error(`no customer ${customerId} for key ${id}`)
    },
    async findByHash(hash) {
      const [row] = (await lookUp(BY_HASH, Buffer.from(hash))).rows
      if (row === undefined) return undefined
      numbers.learn(row)
      return { key: apiKeyFromRow(row), customer: customerFromRow(row) }
    },
    async findById(id) {
      const [row] = (await query(BY_ID, id)).rows
      return row && listedKeyFromRow(row)
    },
    withPrefix: async (prefix, limit) =>
      (await query(WITH_PREFIX, prefix, `${prefix}${LAST_ID}`, limit)).rows.map(listedKeyFromRow),
    list: async (customerId) =>
      (await (customerId === undefined ? query(LIST) : query(PAGE, customerId, '', null))).rows.map(listedKeyFromRow),
    page: async (customerId, { afterId = '', limit }) =>
      (await query(PAGE, customerId, afterId, limit)).rows.map(listedKeyFromRow),
    revoke: async (id, revokedAt) => (await query(REVOKE, revokedAt, id)).count > 0,
    async change(id, { label = null, expiresAt, networks, rateLimit }) {
      const changes = [expiresAt, networksColumn(networks), rateLimit].flatMap((value) => [
        value !== undefined,
        value ?? null,
      ])
      return (await query(CHANGE, id, label, ...changes)).count > 0
    },
    async rotate(id, successor, { now, endsAt }) {
      const { hash, label, createdAt, expiresAt, networks, rateLimit } = successor
      const key = [Buffer.from(hash), label, createdAt, expiresAt, networksColumn(networks), rateLimit]
      return (await query(ROTATE, endsAt, successor.id, id, now, ...key)).count > 0
    },
    countExpiring: async (from, to) => Number((await query(COUNT_EXPIRING, from, to)).rows[0]?.count),
    summaries: async (customerIds, { now, soon }) =>
      (await query(SUMMARIES, customerIds, now, soon)).rows.map(keySummaryFromRow),
    async recordUses(uses) {
      await query(RECORD_USES, ...columnsOf(uses, 'keyId', 'usedAt', 'address'))
    },
  }
}
