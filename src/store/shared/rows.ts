import type { ApiKey, KeySummary, ListedApiKey, SigningKey } from '../store.ts'

/** A row of either database. The functions below read what both give under the same names and as the same types. */
type Row = Readonly<Record<string, unknown>>

export const apiKeyFromRow = (row: Row): ApiKey => ({
  id: row.key_id as string,
  customerId: row.customer_id as string,
  hash: row.hash as Uint8Array,
  label: row.label as string,
  createdAt: row.key_created_at as number,
  expiresAt: row.expires_at as number | null,
  revokedAt: row.revoked_at as number | null,
  successorId: row.successor as string | null,
  networks: networksOfColumn(row.networks as string | null),
  rateLimit: row.rate_limit as number | null,
})

const networksOfColumn = (text: string | null): string[] | null => text?.split(',') ?? null

/** The networks of a key as they stand in its row. */
export const networksColumn = <None extends null | undefined>(networks: readonly string[] | None): string | None =>
  networks ? networks.join() : (networks as None)

export function listedKeyFromRow(row: Row): ListedApiKey {
  const key = apiKeyFromRow(row)
  const used = typeof row.used_at === 'number'
  return {
    ...key,
    lastUse: used ? { keyId: key.id, usedAt: row.used_at as number, address: row.address as string } : null,
  }
}

export const keySummaryFromRow = (row: Row): KeySummary => ({
  customerId: row.customer_id as string,
  live: row.live as number,
  expiring: row.expiring as number,
  expired: row.expired as number,
  lastUsedAt: row.last_used_at as number | null,
})

export const signingKeyFromRow = (row: Row): SigningKey => ({
  kid: row.kid as string,
  algorithm: row.algorithm as string,
  privateJwk: row.private_jwk as string,
  createdAt: row.created_at as number,
  expiresAt: row.expires_at as number | null,
})
