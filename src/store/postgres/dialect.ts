import { AppError } from '#src/lib/app-error.ts'
import type { Dialect, Kind } from '../sql/dialect.ts'
import { get, run } from '../sql/work.ts'
import { storeErrors } from '../store.errors.ts'

const TYPES: Record<Kind, string> = { text: 'text', integer: 'bigint' }
const UNIQUE_VIOLATION = '23505'

/** What an erasure will do, on every table that it changes. */
const MAY_ERASE = `
  SELECT has_column_privilege('delivery', 'payload', 'UPDATE') AND has_column_privilege('delivery', 'order_id', 'UPDATE')
     AND has_table_privilege('order_state', 'DELETE') AND has_table_privilege('idempotency', 'DELETE')
     AND has_table_privilege('refused_delivery', 'DELETE') AND has_table_privilege('refused_tally', 'UPDATE')
     AND has_column_privilege('audit_event', 'order_id', 'UPDATE') AND has_table_privilege('webhook_attempt', 'DELETE')
     AND has_table_privilege('purge', 'UPDATE') AND has_table_privilege('erased_customer', 'INSERT') AS may`

export const postgres: Dialect = {
  pick: (each) => each.postgres,
  larger: (one, other) => `greatest(${one}, ${other})`,
  smaller: (one, other) => `least(${one}, ${other})`,
  startsWith: (text, prefix) => `starts_with(${text}, ${prefix})`,
  contains: (text, part) => `position(${part} IN ${text}) > 0`,
  texts: (column, from) => `ARRAY(SELECT ${column} FROM ${from} ORDER BY ${column})`,
  among: (parameter) => `= ANY (${parameter}::text[])`,
  oneOf: (query) => `= ANY (ARRAY(${query}))`,
  each: (parameter, alias, kind = 'text') => `unnest(${parameter}::${TYPES[kind]}[]) ${alias} (value)`,
  one: (table, alias, condition) =>
    `CROSS JOIN LATERAL (SELECT * FROM ${table} ${alias} WHERE ${condition} LIMIT 1) ${alias}`,
  sorted: (order) => `ORDER BY ${order}`,
  uuid: (column) => column,
  receipt: (parameter) => `${parameter}::uuid`,
  rows: (parameter, alias, columns) =>
    `jsonb_to_recordset(${parameter}::jsonb) ${alias} (${Object.entries(columns).map(([name, kind]) => `${name} ${TYPES[kind]}`)})`,
  *lock(table) {
    yield* run(`LOCK TABLE ${table} IN SHARE ROW EXCLUSIVE MODE`)
  },
  isDuplicate: (error) => (error as { code?: string }).code === UNIQUE_VIOLATION,
  *requireErasing() {
    if ((yield* get(MAY_ERASE))?.may === true) return
    throw new AppError(storeErrors.forbidden, {
      message:
        'The role of DATABASE_URL may not erase deliveries, so nothing was changed. Run this as the owner of the tables.',
    })
  },
}
