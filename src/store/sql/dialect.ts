import type { Row, Value, Work } from './work.ts'

/** Larger than any customer number, count or time in a store. */
export const NO_LIMIT = Number.MAX_SAFE_INTEGER

/** Sorts after every id. */
export const LAST_ID = '\u{10ffff}'

export type Kind = 'text' | 'integer'

export interface Range {
  readonly range: string
  readonly order: string
}

/** Where the SQL of the two databases differs. Everything else is written once, with `$1`, `true` and `octet_length`. */
export interface Dialect {
  /** For a statement whose plan has to be forced, which each database does in its way. */
  pick<Each>(each: { readonly sqlite: Each; readonly postgres: Each }): Each
  /** The larger and the smaller of two values that are not NULL. */
  larger(one: string, other: string): string
  smaller(one: string, other: string): string
  startsWith(text: string, prefix: string): string
  /** Of texts or bytes. */
  contains(text: string, part: string): string
  /** The texts of a column, sorted, as one value for `textsOf`. */
  texts(column: string, from: string): string
  /** Compares with the texts of an array in a parameter. */
  among(parameter: string): string
  /** The values of a column in the rows that fit, as one value for `each`. */
  list(column: string, condition: string): string
  /** Compares with what a query finds, which PostgreSQL runs first, whatever the planner estimates. */
  oneOf(query: string): string
  /**
   * Compares the columns of a primary key with the rows of the same table that a query finds, which nobody may change meanwhile. PostgreSQL
   * names them by where they are: a join that was planned while the table was nearly empty would read all of it for each.
   */
  rows(key: string, query: (columns: string) => string): string
  /** An array in a parameter, of texts if nothing else is said, as a table with the column `value`. */
  each(parameter: string, alias: string, kind?: Kind): string
  /** Joins the row that an index finds for each row before. No database may choose another way, whatever its statistics say. */
  one(table: string, alias: string, condition: string): string
  /** ORDER BY for what an inner query has sorted already. SQLite keeps that order, and would sort again. */
  sorted(order: string): string
  /** The UUID in a column, for `uuidFrom`. */
  uuid(column: string): string
  /** A receipt in a parameter: hexadecimal digits, with or without hyphens. */
  receipt(parameter: string): string
  /** The rows whose `column` is `value`, `$1` if not given, from one place on and below another, for an index on the column and the place. */
  along(column: string, place: string, from: string, below: string, value?: string): string
  /** The index that SQLite uses for the table before it, where its planner would choose another one. */
  indexedBy(index: string): string
  /** Joins the row that fits, if there is one, by an index. */
  joinOne(table: string, alias: string, on: string): string
  /** A range of a table. Filters on it do not change how it is read: in the order of an index. */
  inOrder(table: string, range: Range): string
  /**
   * A statement for a batch, which it reads as the table `v` with columns such as `name text, at bigint`. PostgreSQL runs it once,
   * SQLite once for each row.
   */
  batch(columns: string, sql: (v: string) => string): (rows: readonly (readonly Value[])[]) => Work<readonly Row[]>
  /** Ends a query: locks its rows until the end of the transaction. The second leaves out those that somebody else has locked. */
  readonly forUpdate: string
  readonly skipLocked: string
  /** Makes others wait who want the same, until the end of the transaction. */
  lock(table: string): Work<void>
  isDuplicate(error: unknown): boolean
  /** Throws STORE_FORBIDDEN where the role may not erase deliveries. */
  requireErasing(): Work<void>
}

/** The rows of a batch as arrays, which PostgreSQL reads as the table `v`: its columns are such as in `batch`. */
export const arraysOf = (columns: string, rows: readonly (readonly Value[])[]): Value[] =>
  columns.split(', ').map((_, place) => rows.map((row) => row[place] as Value))

/** These arrays as a table, in the parameters from `$first` on. */
export const tableOf = (columns: string, first = 1): string => {
  const named = columns.split(', ').map((column) => column.split(' '))
  const arrays = named.map(([, type], place) => `$${first + place}::${type}[]`)
  return `unnest(${arrays}) v (${named.map(([name]) => name)})`
}

/** Reads what `texts` made. */
export const textsOf = (value: unknown): string[] =>
  typeof value === 'string' ? JSON.parse(value) : (value as string[])
