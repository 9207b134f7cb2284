import { AppError } from '#src/lib/app-error.ts'
import { customerFilterValues, customerPage, LAST_ID } from '../shared/walks.ts'
import { storeErrors } from '../store.errors.ts'
import type { Customer, CustomerStore } from '../store.ts'
import type { Database, Query, Row } from './database.ts'

/** Columns of a customer under the alias `c`. */
export const CUSTOMER_COLUMNS = `
  c.id, c.email, c.password_hash, c.is_api, c.operator, c.read_only, c.enabled, c.token_generation, c.created_at,
  ARRAY(SELECT region FROM customer_region WHERE customer = c.number ORDER BY region) AS regions,
  ARRAY(SELECT rule FROM authority_rule WHERE customer = c.number ORDER BY rule) AS authority`

const SELECT = `SELECT ${CUSTOMER_COLUMNS} FROM customer c`

/** The last customer that a walk looks at. */
const END = 'SELECT id FROM customer WHERE id > $1 ORDER BY id LIMIT 1 OFFSET $2'

const SEARCH = `${SELECT}
   WHERE c.id > $1 AND c.id <= $2
     AND ($3::text IS NULL OR strpos(c.email, $3) > 0 OR starts_with(c.id, $3))
     AND ($4::boolean IS NULL OR c.is_api = $4) AND ($5::boolean IS NULL OR c.operator = $5)
     AND ($6::boolean IS NULL OR (c.operator AND c.read_only) = $6) AND ($7::boolean IS NULL OR c.enabled = $7)
     AND ($8::boolean IS NULL OR (c.email = 'removed:' || c.id) = $8)
   ORDER BY c.id
   LIMIT $9`

/** Part of every statement that changes an account: increments the version, so that all caches read the account again. */
export const countVersion = 'version AS (UPDATE account_version SET number = number + 1)'

const INSERT = `
  WITH ${countVersion}, inserted AS (
    INSERT INTO customer (id, email, password_hash, is_api, operator, read_only, enabled, token_generation, created_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
    ON CONFLICT (email) DO NOTHING
    RETURNING number
  ), regions AS (
    INSERT INTO customer_region (customer, region) SELECT number, unnest($10::text[]) FROM inserted
  ), rules AS (
    INSERT INTO authority_rule (customer, rule) SELECT number, unnest($11::text[]) FROM inserted
  )
  SELECT FROM inserted`

const SET_PASSWORD = `
  UPDATE customer SET password_hash = $1, token_generation = $2 WHERE id = $3`

const REPLACE_HASH = `
  UPDATE customer SET password_hash = $1 WHERE id = $2 AND password_hash = $3`

const DISABLE = `
  UPDATE customer SET enabled = false, token_generation = $1 WHERE id = $2`

const REVOKE_TOKENS = `
  UPDATE customer SET token_generation = $1 WHERE id = $2`

const ADD_RULES = `
  WITH ${countVersion}, found AS (SELECT number FROM customer WHERE id = $1), added AS (
    INSERT INTO authority_rule (customer, rule) SELECT number, unnest($2::text[]) FROM found ON CONFLICT DO NOTHING
  )
  SELECT FROM found`

const REMOVE_RULES = `
  WITH ${countVersion}, found AS (SELECT number FROM customer WHERE id = $1), removed AS (
    DELETE FROM authority_rule WHERE customer IN (SELECT number FROM found) AND rule = ANY ($2::text[])
  )
  SELECT FROM found`

const CHANGE = `
  WITH ${countVersion}, changed AS (
    UPDATE customer
       SET email = coalesce($1, email), is_api = coalesce($2, is_api), operator = coalesce($3, operator),
           read_only = coalesce($4, read_only), token_generation = coalesce($5, token_generation)
     WHERE id = $6
    RETURNING number
  ), former AS (
    DELETE FROM customer_region
     WHERE customer IN (SELECT number FROM changed) AND $7::text[] IS NOT NULL AND region <> ALL ($7::text[])
  ), added AS (
    INSERT INTO customer_region (customer, region) SELECT number, unnest($7::text[]) FROM changed ON CONFLICT DO NOTHING
  )
  SELECT FROM changed`

/**
 * With `erased_at`, triggers on `customer` make `deliver_1` refuse what this customer still delivers, and delete the attempts to push
 * its deliveries.
 */
const REMOVE = `
  WITH ${countVersion}, removed AS (
    UPDATE customer
       SET email = 'removed:' || id, password_hash = '', is_api = false, operator = false, read_only = false,
           enabled = false, token_generation = $1, erased_at = coalesce(erased_at, $4)
     WHERE id = $2
    RETURNING number
  ), regions AS (
    DELETE FROM customer_region WHERE customer IN (SELECT number FROM removed)
  ), rules AS (
    DELETE FROM authority_rule WHERE customer IN (SELECT number FROM removed)
  ), keys AS (
    UPDATE api_key SET revoked_at = coalesce(revoked_at, $3), label = '', networks = NULL WHERE customer IN (SELECT number FROM removed)
    RETURNING id
  ), uses AS (
    DELETE FROM api_key_use WHERE key_id IN (SELECT id FROM keys)
  )
  SELECT FROM removed`

const UNIQUE_VIOLATION = '23505'

/** What the erasure will do, on every table that it changes. */
const MAY_ERASE = `
  SELECT has_column_privilege('delivery', 'payload', 'UPDATE') AND has_column_privilege('delivery', 'order_id', 'UPDATE')
     AND has_table_privilege('order_state', 'DELETE') AND has_table_privilege('idempotency', 'DELETE')
     AND has_table_privilege('refused_delivery', 'DELETE') AND has_table_privilege('refused_tally', 'UPDATE')
     AND has_column_privilege('audit_event', 'order_id', 'UPDATE') AND has_table_privilege('webhook_attempt', 'DELETE')
     AND has_table_privilege('purge', 'UPDATE') AND has_table_privilege('erased_customer', 'INSERT') AS may`

export function postgresCustomers({ query, lookUp }: Database): CustomerStore {
  const find = async (by: Query, where: string, value: string): Promise<Customer | undefined> => {
    const { rows } = await by(`${SELECT} WHERE ${where}`, value)
    return rows[0] && customerFromRow(rows[0])
  }
  const change = async (update: string, ...values: unknown[]): Promise<boolean> => {
    const { count } = await query(
      `WITH ${countVersion}, changed AS (${update} RETURNING 1) SELECT FROM changed`,
      ...values,
    )
    return count > 0
  }

  return {
    async insert(customer) {
      const { id, email, passwordHash, isApi, operator, readOnly, enabled, tokenGeneration, createdAt } = customer
      const values = [id, email, passwordHash, isApi, operator, readOnly, enabled, tokenGeneration, createdAt]
      const { count } = await query(INSERT, ...values, customer.regions, customer.authority)
      return count > 0 ? 'inserted' : 'email-taken'
    },
    findById: (id) => find(lookUp, 'c.id = $1', id),
    findByEmail: (email) => find(query, 'c.email = $1', email),
    async list({ afterId = '', limit }) {
      const { rows } = await query(`${SELECT} WHERE c.id > $1 ORDER BY c.id LIMIT $2`, afterId, limit)
      return rows.map(customerFromRow)
    },
    findMany: async (ids) =>
      (await query(`${SELECT} WHERE c.id = ANY ($1::text[]) ORDER BY c.id`, ids)).rows.map(customerFromRow),
    async search(filter, afterId, bounds) {
      const end = (await query(END, afterId, bounds.look - 1)).rows[0]?.id as string | undefined
      const { rows } = await query(SEARCH, afterId, end ?? LAST_ID, ...customerFilterValues(filter), bounds.most)
      return customerPage(rows.map(customerFromRow), end, bounds)
    },
    setPassword: (id, hash, tokenGeneration) => change(SET_PASSWORD, hash, tokenGeneration, id),
    replacePasswordHash: (id, from, to) => change(REPLACE_HASH, to, id, from),
    enable: (id) => change('UPDATE customer SET enabled = true WHERE id = $1', id),
    disable: (id, tokenGeneration) => change(DISABLE, tokenGeneration, id),
    revokeTokens: (id, tokenGeneration) => change(REVOKE_TOKENS, tokenGeneration, id),
    addAuthority: async (id, rules) => (await query(ADD_RULES, id, rules)).count > 0,
    removeAuthority: async (id, rules) => (await query(REMOVE_RULES, id, rules)).count > 0,
    async change(
      id,
      { email = null, isApi = null, operator = null, readOnly = null, regions = null, tokenGeneration = null },
    ) {
      try {
        const { count } = await query(CHANGE, email, isApi, operator, readOnly, tokenGeneration, id, regions)
        return count > 0 ? 'changed' : 'missing'
      } catch (error) {
        if ((error as { code?: string }).code === UNIQUE_VIOLATION) return 'email-taken'
        throw error
      }
    },
    async remove(id, { tokenGeneration, now, erase }) {
      if (erase && !(await query(MAY_ERASE)).rows[0]?.may) {
        throw new AppError(storeErrors.forbidden, {
          message:
            'The role of DATABASE_URL may not erase deliveries, so nothing was changed. Run this as the owner of the tables.',
        })
      }
      return (await query(REMOVE, tokenGeneration, id, now, erase ? now : null)).count > 0
    },
  }
}

export const customerFromRow = (row: Row): Customer => ({
  id: row.id as string,
  email: row.email as string,
  passwordHash: row.password_hash as string,
  isApi: row.is_api as boolean,
  operator: row.operator as boolean,
  readOnly: (row.operator && row.read_only) as boolean,
  enabled: row.enabled as boolean,
  regions: row.regions as string[],
  authority: row.authority as string[],
  tokenGeneration: row.token_generation as string,
  createdAt: row.created_at as number,
})

const FIND_NUMBERS = 'SELECT id, number FROM customer WHERE id = ANY ($1::text[])'

/** Caches the numbers by which deliveries name their customers. They never change. */
export interface CustomerNumbers {
  /** Caches the number from a row with `customer_id` and `number`, so that the customer's first delivery does not look it up. */
  learn(row: Row): void
  of(customerIds: readonly string[]): Promise<number[]>
}

export function createCustomerNumbers(lookUp: Query): CustomerNumbers {
  const numbers = new Map<string, number>()

  const find = async (customerIds: readonly string[]): Promise<number[]> => {
    const { rows } = await lookUp(FIND_NUMBERS, [...new Set(customerIds)])
    for (const { id, number } of rows) numbers.set(id as string, number as number)
    return customerIds.map((id) => {
      const number = numbers.get(id)
      if (number === undefined) throw new Error(`no customer ${id}`)
      return number
    })
  }

  return {
    learn: ({ customer_id, number }) => void numbers.set(customer_id as string, number as number),
    async of(customerIds) {
      const known = customerIds.map((id) => numbers.get(id))
      return known.includes(undefined) ? find(customerIds) : (known as number[])
    },
  }
}
