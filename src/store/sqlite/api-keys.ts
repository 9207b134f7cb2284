import type { ApiKey, ApiKeyStore } from '../store.ts'
import { CUSTOMER_COLUMNS, customerFromRow } from './customer-sql.ts'
import type { Database, Row } from './database.ts'
import type { Writer } from './thread/writer.ts'

const KEY_COLUMNS = `
  k.id AS key_id, c.id AS customer_id, k.hash, k.label, k.created_at AS key_created_at, k.expires_at, k.revoked_at,
  k.successor`

const BY_HASH = `
  SELECT ${KEY_COLUMNS}, ${CUSTOMER_COLUMNS} FROM api_key k JOIN customer c ON c.number = k.customer WHERE k.hash = $1`

const LIST = `
  SELECT ${KEY_COLUMNS}, u.used_at, u.address
    FROM api_key k JOIN customer c ON c.number = k.customer LEFT JOIN api_key_use u ON u.key_id = k.id
   WHERE $1 IS NULL OR c.id = $1
   ORDER BY k.id`

export function sqliteApiKeys(database: Database, writer: Writer): ApiKeyStore {
  return {
    insert: (key) => writer.run('insertApiKey', [key]),
    findByHash: async (hash) => {
      const row = database.get(BY_HASH, hash)
      return row && { key: keyFromRow(row), customer: customerFromRow(row) }
    },
    list: async (customerId) =>
      database.all(LIST, customerId ?? null).map((row) => {
        const key = keyFromRow(row)
        const used = typeof row.used_at === 'number'
        const lastUse = used ? { keyId: key.id, usedAt: row.used_at as number, address: row.address as string } : null
        return { ...key, lastUse }
      }),
    revoke: (id, revokedAt) => writer.run('revokeApiKey', [id, revokedAt]),
    rotate: (id, successor, { now, endsAt }) => writer.run('rotateApiKey', [id, successor, now, endsAt]),
    recordUses: (uses) => writer.run('recordUses', [uses]),
  }
}

const keyFromRow = (row: Row): ApiKey => ({
  id: row.key_id as string,
  customerId: row.customer_id as string,
  hash: row.hash as Uint8Array,
  label: row.label as string,
  createdAt: row.key_created_at as number,
  expiresAt: row.expires_at as number | null,
  revokedAt: row.revoked_at as number | null,
  successorId: row.successor as string | null,
})
