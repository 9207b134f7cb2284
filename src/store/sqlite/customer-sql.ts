import type { Customer } from '../store.ts'
import type { Row } from './database.ts'

/** The columns of a customer `c`. */
export const CUSTOMER_COLUMNS = `
  c.id, c.email, c.password_hash, c.is_api, c.operator, c.enabled, c.tokens_valid_from, c.created_at,
  (SELECT json_group_array(region ORDER BY region) FROM customer_region WHERE customer = c.number) AS regions,
  (SELECT json_group_array(rule ORDER BY rule) FROM authority_rule WHERE customer = c.number) AS authority`

export const customerFromRow = (row: Row): Customer => ({
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
