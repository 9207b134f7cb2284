import type { ApiKey, ApiKeyUse, Customer } from '../store.ts'
import type { Database } from './database.ts'

const INSERT_CUSTOMER = `
  INSERT INTO customer (id, email, password_hash, is_api, operator, enabled, tokens_valid_from, created_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
  ON CONFLICT (email) DO NOTHING`

const INSERT_REGION = `
  INSERT INTO customer_region (customer, region) SELECT number, $2 FROM customer WHERE id = $1`

const INSERT_RULE = `
  INSERT INTO authority_rule (customer, rule) SELECT number, $2 FROM customer WHERE id = $1
  ON CONFLICT DO NOTHING`

const DELETE_RULE = `
  DELETE FROM authority_rule WHERE customer = (SELECT number FROM customer WHERE id = $1) AND rule = $2`

const SET_PASSWORD = `
  UPDATE customer SET password_hash = $1, tokens_valid_from = max(tokens_valid_from, $2) WHERE id = $3`

const DISABLE = `
  UPDATE customer SET enabled = 0, tokens_valid_from = max(tokens_valid_from, $1) WHERE id = $2`

const INSERT_KEY = `
  INSERT INTO api_key (id, customer, hash, label, created_at, expires_at, revoked_at)
  SELECT $1, number, $2, $3, $4, $5, $6 FROM customer WHERE id = $7`

const END_KEY = `
  UPDATE api_key SET expires_at = min(coalesce(expires_at, $1), $1), successor = $2
   WHERE id = $3 AND successor IS NULL AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $4)`

const RECORD_USE = `
  INSERT INTO api_key_use (key_id, used_at, address) VALUES ($1, $2, $3)
  ON CONFLICT (key_id) DO UPDATE SET used_at = excluded.used_at, address = excluded.address
   WHERE excluded.used_at > used_at`

const REVOKE_TOKENS = `
  UPDATE customer SET tokens_valid_from = max(tokens_valid_from, $1) WHERE id = $2`

/** What changes customers and keys, each in a transaction of its own. Runs in the writer worker. */
export function accountWrites(database: Database) {
  /** Every change of an account counts the version up, so that no cache keeps what is no longer so. */
  const accountChange = <Result>(work: () => Result): Result =>
    database.transaction(() => {
      const result = work()
      database.run('UPDATE account_version SET number = number + 1')
      return result
    })
  const changed = (sql: string, ...values: (string | number)[]): boolean =>
    accountChange(() => database.run(sql, ...values) > 0)
  const forEachRule = (sql: string, id: string, rules: readonly string[]): boolean =>
    accountChange(() => {
      for (const rule of rules) database.run(sql, id, rule)
      return database.get('SELECT 1 FROM customer WHERE id = $1', id) !== undefined
    })
  const insertKey = ({ id, customerId, hash, label, createdAt, expiresAt, revokedAt }: ApiKey): void => {
    const inserted = database.run(INSERT_KEY, id, hash, label, createdAt, expiresAt, revokedAt, customerId)
    if (inserted === 0) throw new Error(`no customer ${customerId} for key ${id}`)
  }

  return {
    insertCustomer: (customer: Customer): 'inserted' | 'email-taken' =>
      accountChange(() => {
        const { id, email, passwordHash, isApi, operator, enabled, tokensValidFrom, createdAt } = customer
        const flags = [Number(isApi), Number(operator), Number(enabled)] as const
        const inserted = database.run(INSERT_CUSTOMER, id, email, passwordHash, ...flags, tokensValidFrom, createdAt)
        if (inserted === 0) return 'email-taken'
        for (const region of customer.regions) database.run(INSERT_REGION, id, region)
        for (const rule of customer.authority) database.run(INSERT_RULE, id, rule)
        return 'inserted'
      }),
    setPassword: (id: string, hash: string, tokensValidFrom: number) =>
      changed(SET_PASSWORD, hash, tokensValidFrom, id),
    replacePasswordHash: (id: string, from: string, to: string) =>
      changed('UPDATE customer SET password_hash = $1 WHERE id = $2 AND password_hash = $3', to, id, from),
    enable: (id: string) => changed('UPDATE customer SET enabled = 1 WHERE id = $1', id),
    disable: (id: string, tokensValidFrom: number) => changed(DISABLE, tokensValidFrom, id),
    revokeTokens: (id: string, tokensValidFrom: number) => changed(REVOKE_TOKENS, tokensValidFrom, id),
    addAuthority: (id: string, rules: readonly string[]) => forEachRule(INSERT_RULE, id, rules),
    removeAuthority: (id: string, rules: readonly string[]) => forEachRule(DELETE_RULE, id, rules),

    insertApiKey: (key: ApiKey): void => accountChange(() => insertKey(key)),
    rotateApiKey: (id: string, successor: ApiKey, now: number, endsAt: number): boolean =>
      accountChange(() => {
        const ended = database.run(END_KEY, endsAt, successor.id, id, now) > 0
        if (ended) insertKey(successor)
        return ended
      }),
    revokeApiKey: (id: string, revokedAt: number) =>
      changed('UPDATE api_key SET revoked_at = coalesce(revoked_at, $1) WHERE id = $2', revokedAt, id),
    recordUses: (uses: readonly ApiKeyUse[]): void =>
      database.transaction(() => {
        for (const { keyId, usedAt, address } of uses) database.run(RECORD_USE, keyId, usedAt, address)
      }),

    insertSecret: (name: string, value: Uint8Array): void =>
      database.transaction(() => {
        database.run('INSERT INTO service_secret (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING', name, value)
      }),
  }
}
