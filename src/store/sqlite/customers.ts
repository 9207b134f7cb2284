import { customerFilterValues, customerPage, LAST_ID } from '../shared/walks.ts'
import type { Customer, CustomerStore } from '../store.ts'
import { type Database, type Row, withSecureDelete } from './database.ts'
import { type Operations, type StoreThread, sendOperations } from './thread/operations.ts'

/** Columns of a customer under the alias `c`. */
export const CUSTOMER_COLUMNS = `
  c.id, c.email, c.password_hash, c.is_api, c.operator, c.read_only, c.enabled, c.token_generation, c.created_at,
  (SELECT json_group_array(region ORDER BY region) FROM customer_region WHERE customer = c.number) AS regions,
  (SELECT json_group_array(rule ORDER BY rule) FROM authority_rule WHERE customer = c.number) AS authority`

const SELECT = `SELECT ${CUSTOMER_COLUMNS} FROM customer c`

const FIND_MANY = `${SELECT} WHERE c.id IN (SELECT value FROM json_each($1)) ORDER BY c.id`

/** The last customer that a walk looks at. */
const END = 'SELECT id FROM customer WHERE id > $1 ORDER BY id LIMIT 1 OFFSET $2'

const SEARCH = `${SELECT}
   WHERE c.id > $1 AND c.id <= $2
     AND ($3 IS NULL OR instr(c.email, $3) > 0 OR substr(c.id, 1, length($3)) = $3)
     AND ($4 IS NULL OR c.is_api = $4) AND ($5 IS NULL OR c.operator = $5)
     AND ($6 IS NULL OR (c.operator AND c.read_only) = $6) AND ($7 IS NULL OR c.enabled = $7)
     AND ($8 IS NULL OR (c.email = 'removed:' || c.id) = $8)
   ORDER BY c.id
   LIMIT $9`

const INSERT = `
  INSERT INTO customer (id, email, password_hash, is_api, operator, read_only, enabled, token_generation, created_at)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
  ON CONFLICT (email) DO NOTHING`

const INSERT_REGION = `
  INSERT INTO customer_region (customer, region) SELECT number, $2 FROM customer WHERE id = $1`

const INSERT_RULE = `
  INSERT INTO authority_rule (customer, rule) SELECT number, $2 FROM customer WHERE id = $1
  ON CONFLICT DO NOTHING`

const DELETE_RULE = `
  DELETE FROM authority_rule WHERE customer = (SELECT number FROM customer WHERE id = $1) AND rule = $2`

const SET_PASSWORD = `
  UPDATE customer SET password_hash = $1, token_generation = $2 WHERE id = $3`

const REPLACE_HASH = `
  UPDATE customer SET password_hash = $1 WHERE id = $2 AND password_hash = $3`

const DISABLE = `
  UPDATE customer SET enabled = 0, token_generation = $1 WHERE id = $2`

const REVOKE_TOKENS = `
  UPDATE customer SET token_generation = $1 WHERE id = $2`

const CHANGE = `
  UPDATE customer
     SET email = coalesce($1, email), is_api = coalesce($2, is_api), operator = coalesce($3, operator),
         read_only = coalesce($4, read_only), token_generation = coalesce($5, token_generation)
   WHERE id = $6`

const DELETE_REGIONS = 'DELETE FROM customer_region WHERE customer = (SELECT number FROM customer WHERE id = $1)'

/** With `erased_at`, a trigger on `customer` deletes the attempts to push its deliveries. */
const REMOVE = `
  UPDATE customer
     SET email = 'removed:' || id, password_hash = '', is_api = 0, operator = 0, read_only = 0, enabled = 0,
         token_generation = $1, erased_at = coalesce(erased_at, $2)
   WHERE id = $3`

/** The rest of what is known about a customer. */
const REMOVE_REST = [
  DELETE_REGIONS,
  'DELETE FROM authority_rule WHERE customer = (SELECT number FROM customer WHERE id = $1)',
  `DELETE FROM api_key_use
    WHERE key_id IN (SELECT id FROM api_key WHERE customer = (SELECT number FROM customer WHERE id = $1))`,
]

const REVOKE_KEYS = `
  UPDATE api_key SET revoked_at = coalesce(revoked_at, $1), label = '', networks = NULL
   WHERE customer = (SELECT number FROM customer WHERE id = $2)`

/** Part of every transaction that changes a customer or a key: makes all caches read the accounts again. */
export const countVersion = (database: Database): void =>
  void database.run('UPDATE account_version SET number = number + 1')

export const accountChange = <Result>(database: Database, work: () => Result): Result =>
  database.transaction(() => {
    const result = work()
    countVersion(database)
    return result
  })

/** Changes one row. Returns whether there is such a row. */
export const changeAccount = (database: Database, sql: string, ...values: (string | number)[]): boolean =>
  accountChange(database, () => database.run(sql, ...values) > 0)

const forEachRule = (database: Database, sql: string, id: string, rules: readonly string[]): boolean =>
  accountChange(database, () => {
    for (const rule of rules) database.run(sql, id, rule)
    return database.get('SELECT 1 FROM customer WHERE id = $1', id) !== undefined
  })

/** Run by the writer thread. */
export const customerWrites = {
  insert: (database, customer) =>
    accountChange(database, () => {
      const { id, email, passwordHash, isApi, operator, readOnly, enabled, tokenGeneration, createdAt } = customer
      const flags = [isApi, operator, readOnly, enabled].map(Number)
      const inserted = database.run(INSERT, id, email, passwordHash, ...flags, tokenGeneration, createdAt)
      if (inserted === 0) return 'email-taken'
      for (const region of customer.regions) database.run(INSERT_REGION, id, region)
      for (const rule of customer.authority) database.run(INSERT_RULE, id, rule)
      return 'inserted'
    }),
  setPassword: (database, id, hash, tokenGeneration) =>
    changeAccount(database, SET_PASSWORD, hash, tokenGeneration, id),
  replacePasswordHash: (database, id, from, to) => changeAccount(database, REPLACE_HASH, to, id, from),
  enable: (database, id) => changeAccount(database, 'UPDATE customer SET enabled = 1 WHERE id = $1', id),
  disable: (database, id, tokenGeneration) => changeAccount(database, DISABLE, tokenGeneration, id),
  revokeTokens: (database, id, tokenGeneration) => changeAccount(database, REVOKE_TOKENS, tokenGeneration, id),
  addAuthority: (database, id, rules) => forEachRule(database, INSERT_RULE, id, rules),
  removeAuthority: (database, id, rules) => forEachRule(database, DELETE_RULE, id, rules),
  change: (database, id, { email, isApi, operator, readOnly, regions, tokenGeneration }) =>
    accountChange(database, () => {
      if (email !== undefined && database.get('SELECT 1 FROM customer WHERE email = $1 AND id <> $2', email, id))
        return 'email-taken'
      const flags = [isApi, operator, readOnly].map((flag) => (flag === undefined ? null : Number(flag)))
      if (database.run(CHANGE, email ?? null, ...flags, tokenGeneration ?? null, id) === 0) return 'missing'
      if (regions !== undefined) database.run(DELETE_REGIONS, id)
      for (const region of regions ?? []) database.run(INSERT_REGION, id, region)
      return 'changed'
    }),
  remove: (database, id, { tokenGeneration, now, erase }) =>
    withSecureDelete(database, () => {
      for (const sql of REMOVE_REST) database.run(sql, id)
      database.run(REVOKE_KEYS, now, id)
      countVersion(database)
      return database.run(REMOVE, tokenGeneration, erase ? now : null, id) > 0
    }),
} satisfies Operations<CustomerStore>

/** Run by the reader thread. */
export const customerReads = {
  findMany: (database, ids) => database.all(FIND_MANY, JSON.stringify(ids)).map(customerFromRow),
  search: (database, filter, afterId, bounds) => {
    const end = database.get(END, afterId, bounds.look - 1)?.id as string | undefined
    const values = customerFilterValues(filter).map((value) => (typeof value === 'boolean' ? Number(value) : value))
    const rows = database.all(SEARCH, afterId, end ?? LAST_ID, ...values, bounds.most)
    return customerPage(rows.map(customerFromRow), end, bounds)
  },
} satisfies Operations<CustomerStore>

export function sqliteCustomers(database: Database, writer: StoreThread, reader: StoreThread): CustomerStore {
  const find = (where: string, value: string) => {
    const row = database.get(`${SELECT} WHERE ${where}`, value)
    return row && customerFromRow(row)
  }

  return {
    ...sendOperations(customerWrites, writer, 'customers'),
    ...sendOperations(customerReads, reader, 'customers'),
    findById: async (id) => find('c.id = $1', id),
    findByEmail: async (email) => find('c.email = $1', email),
    list: async ({ afterId = '', limit }) =>
      database.all(`${SELECT} WHERE c.id > $1 ORDER BY c.id LIMIT $2`, afterId, limit).map(customerFromRow),
  }
}

export const customerFromRow = (row: Row): Customer => ({
  id: row.id as string,
  email: row.email as string,
  passwordHash: row.password_hash as string,
  isApi: row.is_api === 1,
  operator: row.operator === 1,
  readOnly: row.operator === 1 && row.read_only === 1,
  enabled: row.enabled === 1,
  regions: JSON.parse(row.regions as string),
  authority: JSON.parse(row.authority as string),
  tokenGeneration: row.token_generation as string,
  createdAt: row.created_at as number,
})
