import type { Customer, CustomerStore } from '../store.ts'
import type { Database, Row } from './database.ts'

const SELECT = `
  SELECT id, email, password_hash, is_api, operator, enabled, tokens_valid_from, created_at,
         (SELECT json_group_array(region ORDER BY region) FROM customer_region WHERE customer_id = id) AS regions,
         (SELECT json_group_array(rule ORDER BY rule) FROM authority_rule WHERE customer_id = id) AS authority
    FROM customer`

const INSERT = `
  INSERT INTO customer (id, email, password_hash, is_api, operator, enabled, tokens_valid_from, created_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
  ON CONFLICT (email) DO NOTHING`

const SET_PASSWORD = `
  UPDATE customer SET password_hash = $2, tokens_valid_from = max(tokens_valid_from, $3) WHERE id = $1`

const DISABLE = `
  UPDATE customer SET enabled = 0, tokens_valid_from = max(tokens_valid_from, $2) WHERE id = $1`

export function sqliteCustomers(database: Database): CustomerStore {
  const changed = (sql: string, ...values: (string | number)[]): boolean => database.run(sql, ...values) > 0
  const exists = (id: string): boolean => database.get('SELECT 1 FROM customer WHERE id = $1', id) !== undefined

  const forEachRule = (sql: string, id: string, rules: readonly string[]): boolean =>
    database.transaction(() => {
      if (!exists(id)) return false
      for (const rule of rules) database.run(sql, id, rule)
      return true
    })

  return {
    insert: async (customer) =>
      database.transaction(() => {
        const { id, email, passwordHash, isApi, operator, enabled, tokensValidFrom, createdAt } = customer
        const flags = [Number(isApi), Number(operator), Number(enabled)] as const
        if (!changed(INSERT, id, email, passwordHash, ...flags, tokensValidFrom, createdAt)) return 'email-taken'
        for (const region of customer.regions) {
          database.run('INSERT INTO customer_region (customer_id, region) VALUES ($1, $2)', id, region)
        }
        for (const rule of customer.authority) {
          database.run('INSERT INTO authority_rule (customer_id, rule) VALUES ($1, $2)', id, rule)
        }
        return 'inserted'
      }),
    findById: async (id) => toCustomer(database.get(`${SELECT} WHERE id = $1`, id)),
    findByEmail: async (email) => toCustomer(database.get(`${SELECT} WHERE email = $1`, email)),
    list: async ({ afterId = '', limit }) =>
      database.all(`${SELECT} WHERE id > $1 ORDER BY id LIMIT $2`, afterId, limit).map(fromRow),
    setPassword: async (id, passwordHash, tokensValidFrom) => changed(SET_PASSWORD, id, passwordHash, tokensValidFrom),
    replacePasswordHash: async (id, from, to) =>
      changed('UPDATE customer SET password_hash = $3 WHERE id = $1 AND password_hash = $2', id, from, to),
    enable: async (id) => changed('UPDATE customer SET enabled = 1 WHERE id = $1', id),
    disable: async (id, tokensValidFrom) => changed(DISABLE, id, tokensValidFrom),
    addAuthority: async (id, rules) =>
      forEachRule('INSERT INTO authority_rule (customer_id, rule) VALUES ($1, $2) ON CONFLICT DO NOTHING', id, rules),
    removeAuthority: async (id, rules) =>
      forEachRule('DELETE FROM authority_rule WHERE customer_id = $1 AND rule = $2', id, rules),
  }
}

const toCustomer = (row: Row | undefined): Customer | undefined => row && fromRow(row)

const fromRow = (row: Row): Customer => ({
  id: row.id as string,
  email: row.email as string,
  passwordHash: row.password_hash as string,
  isApi: row.is_api === 1,
  operator: row.operator === 1,
  enabled: row.enabled === 1,
  regions: JSON.parse(row.regions as string),
  authority: JSON.parse(row.authority as string),
  tokensValidFrom: row.tokens_valid_from as number,
  createdAt: row.created_at as number,
})
