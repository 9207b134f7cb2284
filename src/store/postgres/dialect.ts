import { AppError } from '#src/lib/app-error.ts'
import { arraysOf, type Dialect, type Kind, NO_LIMIT, tableOf } from '../sql/dialect.ts'
import { all, get, run } from '../sql/work.ts'
import { storeErrors } from '../store.errors.ts'

const TYPES: Record<Kind, string> = { text: 'text', integer: 'bigint' }
const UNIQUE_VIOLATION = '23505'

export const MAY_NOT_ERASE =
  'The role of DATABASE_URL may not erase deliveries, so nothing was changed. Run this as the owner of the tables.'

/** What the erasure of a customer will do, on every table that it changes. */
const MAY_ERASE = `
  SELECT has_function_privilege('erase_1'::regproc, 'EXECUTE')
     AND has_table_privilege('order_state', 'DELETE') AND has_table_privilege('idempotency', 'DELETE')
     AND has_table_privilege('refused_delivery', 'DELETE') AND has_table_privilege('refused_tally', 'UPDATE')
     AND has_column_privilege('audit_event', 'order_id', 'UPDATE') AND has_column_privilege('audit_event', 'order_key', 'UPDATE')
     AND has_column_privilege('audit_event', 'request_id', 'UPDATE')
     AND has_table_privilege('webhook_attempt', 'DELETE')
     AND has_table_privilege('purge', 'UPDATE') AND has_table_privilege('erased_customer', 'INSERT') AS may`

export const postgres: Dialect = {
  pick: (each) => each.postgres,
  larger: (one, other) => `greatest(${one}, ${other})`,
  smaller: (one, other) => `least(${one}, ${other})`,
  startsWith: (text, prefix) => `starts_with(${text}, ${prefix})`,
  contains: (text, part) => `position(${part} IN ${text}) > 0`,
  texts: (column, from) => `ARRAY(SELECT ${column} FROM ${from} ORDER BY ${column})`,
  among: (parameter) => `= ANY (${parameter}::text[])`,
  list: (column, condition) => `coalesce((array_agg(${column}) FILTER (WHERE ${condition}))::text, '{}')`,
  oneOf: (query) => `= ANY (ARRAY(${query}))`,
  rows: (_, query) => `ctid = ANY (ARRAY(${query('ctid')}))`,
  each: (parameter, alias, kind = 'text') => `unnest(${parameter}::${TYPES[kind]}[]) ${alias} (value)`,
  one: (table, alias, condition) =>
    `CROSS JOIN LATERAL (SELECT * FROM ${table} ${alias} WHERE ${condition} LIMIT 1) ${alias}`,
  sorted: (order) => `ORDER BY ${order}`,
  uuid: (column) => column,
  receipt: (parameter) => `${parameter}::uuid`,
  // Compares rows, so that PostgreSQL walks the index that is meant, whatever it believes about the values.
  along: (column, place, from, below, value = '$1') =>
    `(${column}, ${place}) >= (${value}, ${from}) AND (${column}, ${place}) < (${value}, ${below})`,
  indexedBy: () => '',
  joinOne: (table, alias, on) =>
    `LEFT JOIN LATERAL (SELECT * FROM ${table} ${alias} WHERE ${on} LIMIT 1) ${alias} ON true`,
  // LIMIT keeps the planner from sorting all rows for filters that it believes to be rare. It must not know how high it is.
  inOrder: (table, { range, order }) =>
    `(SELECT * FROM ${table} WHERE ${range} ORDER BY ${order} LIMIT (SELECT ${NO_LIMIT}))`,
  batch(columns, sql) {
    const text = sql(tableOf(columns))
    return function* (rows) {
      return rows.length === 0 ? [] : yield* all(text, ...arraysOf(columns, rows))
    }
  },
  forUpdate: 'FOR UPDATE',
  skipLocked: 'FOR UPDATE SKIP LOCKED',
  *lock(table) {
    yield* run(`LOCK TABLE ${table} IN SHARE ROW EXCLUSIVE MODE`)
  },
  isDuplicate: (error) => (error as { code?: string }).code === UNIQUE_VIOLATION,
  *requireErasing() {
    if ((yield* get(MAY_ERASE))?.may === true) return
    throw new AppError(storeErrors.forbidden, { message: MAY_NOT_ERASE })
  },
}
