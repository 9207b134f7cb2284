import { apiKeyFromRow, keySummaryFromRow, listedKeyFromRow, networksColumn } from '../shared/rows.ts'
import { USES_DIFFER_MILLISECONDS } from '../shared/times.ts'
import { LAST_ID } from '../shared/walks.ts'
import type { ApiKey, ApiKeyStore } from '../store.ts'
import { accountChange, CUSTOMER_COLUMNS, changeAccount, customerFromRow } from './customers.ts'
import type { Database } from './database.ts'
import { type Operations, type StoreThread, sendOperations } from './thread/operations.ts'

const KEY_COLUMNS = `
  k.id AS key_id, c.id AS customer_id, k.hash, k.label, k.created_at AS key_created_at, k.expires_at, k.revoked_at,
  k.successor, k.networks, k.rate_limit`

const BY_HASH = `
  SELECT ${KEY_COLUMNS}, ${CUSTOMER_COLUMNS} FROM api_key k JOIN customer c ON c.number = k.customer WHERE k.hash = $1`

const LIST = `
  SELECT ${KEY_COLUMNS}, u.used_at, u.address
    FROM api_key k JOIN customer c ON c.number = k.customer LEFT JOIN api_key_use u ON u.key_id = k.id
   WHERE $1 IS NULL OR c.id = $1
   ORDER BY k.id`

const BY_ID = `
  SELECT ${KEY_COLUMNS}, u.used_at, u.address
    FROM api_key k JOIN customer c ON c.number = k.customer LEFT JOIN api_key_use u ON u.key_id = k.id
   WHERE k.id = $1`

const WITH_PREFIX = `
  SELECT ${KEY_COLUMNS}, u.used_at, u.address
    FROM api_key k JOIN customer c ON c.number = k.customer LEFT JOIN api_key_use u ON u.key_id = k.id
   WHERE k.id >= $1 AND k.id < $2
   ORDER BY k.id
   LIMIT $3`

const PAGE = `
  SELECT ${KEY_COLUMNS}, u.used_at, u.address
    FROM customer c JOIN api_key k ON k.customer = c.number LEFT JOIN api_key_use u ON u.key_id = k.id
   WHERE c.id = $1 AND k.id > $2
   ORDER BY k.id
   LIMIT $3`

const INSERT = `
  INSERT INTO api_key (id, customer, hash, label, created_at, expires_at, revoked_at, networks, rate_limit)
  SELECT $1, number, $2, $3, $4, $5, $6, $7, $8 FROM customer WHERE id = $9`

const END = `
  UPDATE api_key SET expires_at = min(coalesce(expires_at, $1), $1), successor = $2
   WHERE id = $3 AND successor IS NULL AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $4)`

const REVOKE = `
  UPDATE api_key SET revoked_at = coalesce(revoked_at, $1) WHERE id = $2`

const CHANGE = `
  UPDATE api_key
     SET label = coalesce($1, label),
         expires_at = CASE WHEN $2 THEN $3 ELSE expires_at END,
         networks = CASE WHEN $4 THEN $5 ELSE networks END,
         rate_limit = CASE WHEN $6 THEN $7 ELSE rate_limit END
   WHERE id = $8 AND revoked_at IS NULL`

const RECORD_USE = `
  INSERT INTO api_key_use (key_id, used_at, address)
  SELECT id, $2, $3 FROM api_key WHERE id = $1 AND revoked_at IS NULL
  ON CONFLICT (key_id) DO UPDATE SET used_at = excluded.used_at, address = excluded.address
   WHERE excluded.used_at > used_at OR excluded.used_at < used_at - ${USES_DIFFER_MILLISECONDS}`

const COUNT_EXPIRING = `
  SELECT count(*) AS count FROM api_key k JOIN customer c ON c.number = k.customer
   WHERE k.revoked_at IS NULL AND k.expires_at > $1 AND k.expires_at <= $2 AND c.enabled
     AND NOT EXISTS (
       SELECT 1 FROM api_key o
        WHERE o.customer = k.customer AND o.revoked_at IS NULL AND (o.expires_at IS NULL OR o.expires_at > k.expires_at)
          AND (o.id = k.successor OR k.label <> '' AND o.label = k.label AND o.created_at > k.created_at))`

const SUMMARIES = `
  WITH key AS (
    SELECT c.id AS customer_id, k.*, u.used_at,
           k.revoked_at IS NULL AND k.expires_at <= $3 AND NOT EXISTS (
             SELECT 1 FROM api_key o
              WHERE o.customer = k.customer AND o.revoked_at IS NULL
                AND (o.expires_at IS NULL OR o.expires_at > max(k.expires_at, $2))
                AND (o.id = k.successor OR k.label <> '' AND o.label = k.label AND o.created_at > k.created_at)) AS open
      FROM json_each($1) CROSS JOIN customer c ON c.id = json_each.value JOIN api_key k ON k.customer = c.number
      LEFT JOIN api_key_use u ON u.key_id = k.id
  )
  SELECT customer_id, max(used_at) AS last_used_at,
         count(*) FILTER (WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)) AS live,
         count(*) FILTER (WHERE open AND expires_at > $2) AS expiring,
         count(*) FILTER (WHERE open AND expires_at <= $2) AS expired
    FROM key GROUP BY customer_id`

const insert = (database: Database, key: ApiKey): void => {
  const { id, customerId, hash, label, createdAt, expiresAt, revokedAt, networks, rateLimit } = key
  const limits = [networksColumn(networks), rateLimit] as const
  const inserted = database.run(INSERT, id, hash, label, createdAt, expiresAt, revokedAt, ...limits, customerId)
  if (inserted === 0) throw new Error(`no customer ${customerId} for key ${id}`)
}

/** Run by the writer thread. */
export const apiKeyWrites = {
  insert: (database, key) => accountChange(database, () => insert(database, key)),
  revoke: (database, id, revokedAt) => changeAccount(database, REVOKE, revokedAt, id),
  change: (database, id, { label = null, expiresAt, networks, rateLimit }) =>
    accountChange(database, () => {
      const changes = [expiresAt, networksColumn(networks), rateLimit].flatMap((value) => [
        Number(value !== undefined),
        value ?? null,
      ])
      return database.run(CHANGE, label, ...changes, id) > 0
    }),
  rotate: (database, id, successor, { now, endsAt }) =>
    accountChange(database, () => {
      const ended = database.run(END, endsAt, successor.id, id, now) > 0
      if (ended) insert(database, successor)
      return ended
    }),
  recordUses: (database, uses) =>
    database.transaction(() => {
      for (const { keyId, usedAt, address } of uses) database.run(RECORD_USE, keyId, usedAt, address)
    }),
} satisfies Operations<ApiKeyStore>

/** Run by the reader thread. */
export const apiKeyReads = {
  page: (database, customerId, { afterId = '', limit }) =>
    database.all(PAGE, customerId, afterId, limit).map(listedKeyFromRow),
  countExpiring: (database, from, to) => Number(database.get(COUNT_EXPIRING, from, to)?.count),
  summaries: (database, customerIds, { now, soon }) =>
    database.all(SUMMARIES, JSON.stringify(customerIds), now, soon).map(keySummaryFromRow),
} satisfies Operations<ApiKeyStore>

export const sqliteApiKeys = (database: Database, writer: StoreThread, reader: StoreThread): ApiKeyStore => ({
  ...sendOperations(apiKeyWrites, writer, 'apiKeys'),
  ...sendOperations(apiKeyReads, reader, 'apiKeys'),
  findByHash: async (hash) => {
    const row = database.get(BY_HASH, hash)
    return row && { key: apiKeyFromRow(row), customer: customerFromRow(row) }
  },
  findById: async (id) => {
    const row = database.get(BY_ID, id)
    return row && listedKeyFromRow(row)
  },
  withPrefix: async (prefix, limit) =>
    database.all(WITH_PREFIX, prefix, `${prefix}${LAST_ID}`, limit).map(listedKeyFromRow),
  list: async (customerId) => database.all(LIST, customerId ?? null).map(listedKeyFromRow),
})
