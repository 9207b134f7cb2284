import type { Customer, CustomerFilter, CustomerName, CustomerStore } from '../store.ts'
import { type Dialect, LAST_ID, textsOf } from './dialect.ts'
import {
  allAs,
  changed,
  fields,
  find,
  get,
  getAs,
  isThere,
  lookUp,
  type Noun,
  type Row,
  run,
  type Value,
  type Work,
  walk,
  wipe,
  write,
} from './work.ts'

/** Columns of a customer under the alias `c`. */
export const customerColumns = ({ texts }: Dialect): string => `
  c.id, c.email, c.name, c.note, c.disabled_reason, c.silence, c.password_hash, c.is_api, c.scope, c.payloads, c.enabled,
  c.token_generation, c.created_at,
  ${texts('region', 'customer_region WHERE customer = c.number')} AS regions,
  ${texts('rule', 'authority_rule WHERE customer = c.number')} AS authority`

export const NUMBER = '(SELECT number FROM customer WHERE id = $1)'

/** The last customer, or row of another table, that a walk looks at. Knew PostgreSQL how many those are, it would sort a table without statistics. */
export const walkEnd = ({ pick }: Dialect, table = 'customer'): string =>
  `SELECT id FROM ${table} WHERE id > $1 ORDER BY id LIMIT 1 OFFSET ${pick({ sqlite: '$2', postgres: '(SELECT $2::bigint)' })}`

/** Lower-cases ASCII letters only, as in e-mail addresses. */
export const asciiLower = ({ pick }: Dialect, text: string): string =>
  `lower(${text}${pick({ sqlite: '', postgres: ' COLLATE "C"' })})`

const INSERT = `
  INSERT INTO customer (id, email, password_hash, is_api, scope, payloads, enabled, token_generation, created_at,
                        name, note, disabled_reason, silence)
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
  ON CONFLICT (email) DO NOTHING`

/** A customer that was removed meanwhile must get nothing back. */
const IF_THERE = `WHERE id = $1 AND email <> 'removed:' || id`

const SET_PASSWORD = `UPDATE customer SET token_generation = $2, password_hash = $3 ${IF_THERE}`
const REPLACE_HASH = 'UPDATE customer SET password_hash = $3 WHERE id = $1 AND password_hash = $2'
const ENABLE = `UPDATE customer SET enabled = true, disabled_reason = '' ${IF_THERE}`
const DISABLE = `
  UPDATE customer
     SET token_generation = $2, enabled = false, disabled_reason = coalesce($3, disabled_reason) ${IF_THERE}`
const REVOKE_TOKENS = 'UPDATE customer SET token_generation = $2 WHERE id = $1'

const CHANGE = `
  UPDATE customer
     SET email = coalesce($2, email), is_api = coalesce($3, is_api), scope = coalesce($4, scope),
         payloads = coalesce($5, payloads), token_generation = coalesce($6, token_generation),
         name = coalesce($7, name), note = coalesce($8, note), silence = CASE WHEN $9 THEN $10 ELSE silence END
   ${IF_THERE}`

const DELETE_REGIONS = `DELETE FROM customer_region WHERE customer = ${NUMBER}`

/** What is known about a customer beside its row. */
const DELETE_REST = [
  DELETE_REGIONS,
  `DELETE FROM authority_rule WHERE customer = ${NUMBER}`,
  `DELETE FROM api_key_use WHERE key_id IN (SELECT id FROM api_key WHERE customer = ${NUMBER})`,
]

const REVOKE_KEYS = `
  UPDATE api_key SET revoked_at = coalesce(revoked_at, $2), label = '', networks = NULL WHERE customer = ${NUMBER}`

/** With `erased_at`, triggers refuse what this customer still delivers, and delete the attempts to push its deliveries. */
const REMOVE = `
  UPDATE customer
     SET email = 'removed:' || id, password_hash = '', is_api = false, scope = 'customer', payloads = false,
         enabled = false, token_generation = $2, erased_at = coalesce(erased_at, $3),
         name = '', note = '', disabled_reason = '', silence = NULL
   WHERE id = $1`

/** Part of every transaction that changes an account: makes all caches read the accounts again. */
export function* bumpAccountVersion(): Work<void> {
  yield* run('UPDATE account_version SET number = number + 1')
}

const END_SESSIONS = `DELETE FROM console_session WHERE customer = ${NUMBER}`

/** Changes what tokens of a customer are worth: ends its sessions, too. */
function* changeTokens(sql: string, id: string, ...values: readonly Value[]): Work<boolean> {
  const changed = yield* changeAccount(sql, id, ...values)
  yield* run(END_SESSIONS, id)
  return changed
}

/** Changes one row. Returns whether there is such a row. */
export function* changeAccount(sql: string, ...values: readonly Value[]): Work<boolean> {
  yield* bumpAccountVersion()
  return yield* changed(sql, ...values)
}

/** NULL lets everything through. */
const filterValues = ({ text, isApi, scopes, enabled, removed }: CustomerFilter) =>
  [text, isApi, scopes, enabled, removed].map((value) => value ?? null)

export const customers = (dialect: Dialect): Noun<CustomerStore> => {
  const { among, contains, each, isDuplicate, requireErasing, startsWith } = dialect
  const SELECT = `SELECT ${customerColumns(dialect)} FROM customer c`
  const SEARCH_END = walkEnd(dialect)
  const lower = (text: string): string => asciiLower(dialect, text)
  const LIST = `${SELECT} WHERE c.id > $1 ORDER BY c.id LIMIT $2`
  const FIND_MANY = `${SELECT} WHERE c.id ${among('$1')} ORDER BY c.id`
  const NAMES = `SELECT c.id, c.name, c.email FROM customer c WHERE c.id ${among('$1')}`
  const SEARCH = `${SELECT}
   WHERE c.id > $1 AND c.id <= $2
     AND (coalesce($3, '') = '' OR ${contains('c.email', '$3')} OR ${startsWith('c.id', '$3')}
          OR ${contains(lower('c.name'), '$3')} OR ${contains(lower('c.note'), '$3')})
     AND c.is_api = coalesce($4, c.is_api) AND (c.scope ${among('$5')} OR $5 IS NULL) AND c.enabled = coalesce($6, c.enabled)
     AND (c.email = 'removed:' || c.id) = coalesce($7, c.email = 'removed:' || c.id)
   ORDER BY c.id
   LIMIT $8`
  const INSERT_REGIONS = `
    INSERT INTO customer_region (customer, region)
    SELECT c.number, v.value FROM customer c CROSS JOIN ${each('$2', 'v')} WHERE c.id = $1`
  const INSERT_RULES = `
    INSERT INTO authority_rule (customer, rule)
    SELECT c.number, v.value FROM customer c CROSS JOIN ${each('$2', 'v')} WHERE c.id = $1
    ON CONFLICT DO NOTHING`
  const DELETE_RULES = `DELETE FROM authority_rule WHERE customer = ${NUMBER} AND rule ${among('$2')}`

  const findWhere = (where: string, value: string): Work<Customer | undefined> =>
    getAs(customerFromRow, `${SELECT} WHERE ${where}`, value)
  function* changeRules(sql: string, id: string, rules: readonly string[]): Work<boolean> {
    yield* bumpAccountVersion()
    yield* run(sql, id, rules)
    return yield* isThere('SELECT 1 FROM customer WHERE id = $1', id)
  }

  return {
    insert: write(function* (customer) {
      const { id, email, passwordHash, isApi, scope, payloads, enabled, tokenGeneration, createdAt } = customer
      const role = [isApi, scope, payloads, enabled]
      const words = [customer.name, customer.note, customer.disabledReason]
      const values = [id, email, passwordHash, ...role, tokenGeneration, createdAt, ...words, customer.silence]
      yield* bumpAccountVersion()
      if ((yield* run(INSERT, ...values)) === 0) return 'email-taken'
      yield* run(INSERT_REGIONS, id, customer.regions)
      yield* run(INSERT_RULES, id, customer.authority)
      return 'inserted'
    }),
    findById: lookUp((id) => findWhere('c.id = $1', id)),
    findByEmail: find((email) => findWhere('c.email = $1', email)),
    list: find(({ afterId = '', limit }) => allAs(customerFromRow, LIST, afterId, limit)),
    findMany: walk((ids) => allAs(customerFromRow, FIND_MANY, ids)),
    names: walk((ids) => allAs(({ id, name, email }) => ({ id, name, email }) as CustomerName, NAMES, ids)),
    search: walk(function* (filter, afterId, bounds) {
      const end = (yield* get(SEARCH_END, afterId, bounds.scan - 1))?.id as string | undefined
      const found = yield* allAs(
        customerFromRow,
        SEARCH,
        afterId,
        end ?? LAST_ID,
        ...filterValues(filter),
        bounds.limit,
      )
      // After the last one of a full page, and after all that the walk looked at otherwise: up to `end`, if not to the last.
      return { customers: found, next: (found.length === bounds.limit ? found.at(-1)?.id : end) ?? null }
    }),
    setPassword: write((id, hash, tokenGeneration) => changeTokens(SET_PASSWORD, id, tokenGeneration, hash)),
    replacePasswordHash: write((id, from, to) => changeAccount(REPLACE_HASH, id, from, to)),
    enable: write((id) => changeAccount(ENABLE, id)),
    disable: write((id, { reason, tokenGeneration }) => changeTokens(DISABLE, id, tokenGeneration, reason)),
    revokeTokens: write((id, tokenGeneration) => changeTokens(REVOKE_TOKENS, id, tokenGeneration)),
    addAuthority: write((id, rules) => changeRules(INSERT_RULES, id, rules)),
    removeAuthority: write((id, rules) => changeRules(DELETE_RULES, id, rules)),
    change: write(function* (id, { email, isApi, scope, payloads, regions, tokenGeneration, name, note, silence }) {
      const values = [email, isApi, scope, payloads, tokenGeneration, name, note].map((value) => value ?? null)
      const concernsTokens = [isApi, scope, payloads, regions, tokenGeneration].some((value) => value !== undefined)
      const changeRow = concernsTokens ? changeTokens : changeAccount
      try {
        if (!(yield* changeRow(CHANGE, id, ...values, silence !== undefined, silence ?? null))) return 'missing'
      } catch (error) {
        if (isDuplicate(error)) return 'email-taken'
        throw error
      }
      if (regions === undefined) return 'changed'
      yield* run(DELETE_REGIONS, id)
      yield* run(INSERT_REGIONS, id, regions)
      return 'changed'
    }),
    remove: wipe(function* (id, { tokenGeneration, now, erase }) {
      if (erase) yield* requireErasing()
      for (const sql of DELETE_REST) yield* run(sql, id)
      yield* run(REVOKE_KEYS, id, now)
      return yield* changeTokens(REMOVE, id, tokenGeneration, erase ? now : null)
    }),
  }
}

const customerFields = fields<Omit<Customer, 'isApi' | 'payloads' | 'enabled' | 'regions' | 'authority'>>()(
  'id email name note disabledReason silence passwordHash scope tokenGeneration createdAt',
)

export const customerFromRow = (row: Row): Customer => ({
  ...customerFields(row),
  isApi: Boolean(row.is_api),
  payloads: Boolean(row.scope === 'operator:support' && row.payloads),
  enabled: Boolean(row.enabled),
  regions: textsOf(row.regions),
  authority: textsOf(row.authority),
})
