import type { Dialect } from '../sql/dialect.ts'
import { all, type Row } from '../sql/work.ts'

const UNIQUE = 2067

export const sqlite: Dialect = {
  pick: (each) => each.sqlite,
  larger: (one, other) => `max(${one}, ${other})`,
  smaller: (one, other) => `min(${one}, ${other})`,
  startsWith: (text, prefix) => `substr(${text}, 1, length(${prefix})) = ${prefix}`,
  contains: (text, part) => `instr(${text}, ${part}) > 0`,
  // An inner query finds them sorted by an index. An ORDER BY of the function would sort them again.
  texts: (column, from) =>
    `(SELECT json_group_array(${column}) FROM (SELECT ${column} FROM ${from} ORDER BY ${column}))`,
  among: (parameter) => `IN (SELECT value FROM json_each(${parameter}))`,
  list: (column, condition) => `json_group_array(${column}) FILTER (WHERE ${condition})`,
  oneOf: (query) => `IN (${query})`,
  rows: (key, query) => `(${key}) IN (${query(key)})`,
  each: (parameter, alias) => `json_each(${parameter}) ${alias}`,
  one: (table, alias, condition) => `CROSS JOIN ${table} ${alias} ON ${condition}`,
  sorted: () => '',
  uuid: (column) => `hex(${column})`,
  receipt: (parameter) => `unhex(${parameter}, '-')`,
  along: (column, place, from, below, value = '$1') =>
    `(${column}) = (${value}) AND (${place}) >= (${from}) AND (${place}) < (${below})`,
  indexedBy: (index) => `INDEXED BY ${index}`,
  joinOne: (table, alias, on) => `LEFT JOIN ${table} ${alias} ON ${on}`,
  inOrder: (table, { range }) => `(SELECT * FROM ${table} WHERE ${range})`,
  batch(columns, sql) {
    const text = sql(`(SELECT ${columns.split(', ').map((column, n) => `$${n + 1} AS ${column.split(' ')[0]}`)}) v`)
    return function* (rows) {
      const found: Row[] = []
      for (const row of rows) found.push(...(yield* all(text, ...row)))
      return found
    }
  },
  // A transaction of a file is alone.
  forUpdate: '',
  skipLocked: '',
  *lock() {},
  isDuplicate: (error) => (error as { errcode?: number }).errcode === UNIQUE,
  *requireErasing() {},
}
