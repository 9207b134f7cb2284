import { createHash } from 'node:crypto'
import type { Query, Row } from '../postgres/database.ts'
import type { Database } from '../sqlite/database.ts'

/** What `canonical` can read. */
const TYPES: readonly string[] = ['bigint', 'integer', 'smallint', 'boolean', 'text', 'bytea', 'uuid']

export interface CopyTable {
  readonly name: string
  /** Their types in PostgreSQL. */
  readonly columns: Readonly<Record<string, string>>
  /** The columns that order its rows on both sides. */
  readonly key: readonly string[]
}

/**
 * Each database has its own list of migrations, and a session of the console belongs to one server. The others are computed from the
 * deliveries: the copy makes them again when deliveries come in.
 */
const NOT_COPIED: readonly string[] = [
  'schema_migration',
  'console_session',
  'delivery_block',
  'block_customers',
  'span_customers',
]

/** In the order in which they were created: a table comes after those that it refers to. */
const HERE = `
  SELECT t.name AS "table", c.name, c.pk AS key
    FROM sqlite_schema t, pragma_table_info(t.name) c WHERE t.type = 'table' ORDER BY t.rowid, c.cid`

const THERE = `
  SELECT c.relname AS "table", a.attname AS name, format_type(a.atttypid, NULL) AS type,
         coalesce(array_position(k.conkey, a.attnum), 0) AS key
    FROM pg_class c
    JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = current_schema
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN pg_constraint k ON k.conrelid = c.oid AND k.contype = 'p'
   WHERE c.relkind IN ('r', 'p')`

/** Returns the tables that both databases have, with the columns that both have, as their catalogs say. */
export async function findTables(source: Database, query: Query): Promise<CopyTable[]> {
  const here = Map.groupBy(source.all(HERE), ({ table }) => String(table))
  const there = Map.groupBy((await query(THERE)).rows, ({ table }) => String(table))
  return Array.from(here, ([name, own]) => tableOf(name, own, there.get(name) ?? [])).filter(
    ({ name, key }) => key.length > 0 && !NOT_COPIED.includes(name),
  )
}

function tableOf(name: string, here: readonly Row[], there: readonly Row[]): CopyTable {
  const types = new Map(there.map((column) => [column.name, String(column.type)]))
  const shared = here.map((column) => String(column.name)).filter((column) => types.has(column))
  const columns = Object.fromEntries(shared.map((column) => [column, types.get(column) as string]))
  for (const [column, type] of Object.entries(columns))
    if (!TYPES.includes(type))
      throw new Error(`the column ${column} of ${name} has the type ${type}, which cannot be copied`)
  // One side may have a key of its own.
  const key = [keyOf(here), keyOf(there)].find((key) => key.length > 0 && key.every((column) => column in columns))
  return { name, columns, key: key ?? [] }
}

const keyOf = (columns: readonly Row[]): string[] =>
  columns
    .filter(({ key }) => Number(key) > 0)
    .toSorted((one, other) => Number(one.key) - Number(other.key))
    .map(({ name }) => String(name))

/** Returns every table except the deliveries, which are only ever added. */
export const smallOf = (tables: readonly CopyTable[]): CopyTable[] => tables.filter(({ name }) => name !== 'delivery')

/** A value of either database as text, to be copied and compared. */
export function canonical(value: unknown, type: string): string | null {
  if (value === null) return null
  if (type === 'boolean') return value === 1 || value === true ? 't' : 'f'
  if (type === 'bytea') return Buffer.from(value as Uint8Array).toString('hex')
  if (type === 'uuid' && value instanceof Uint8Array) {
    const hex = Buffer.from(value).toString('hex')
    return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  }
  return String(value)
}

export interface CopiedTable {
  readonly name: string
  readonly rows: number
  /** SHA-256 of all rows in key order; equal for equal tables in either database. */
  readonly sha256: string
}

/** Hears how many rows have been read. */
export type OnRows = (rows: number) => void

/** Payloads may have a mebibyte each. */
const FETCHED_AT_ONCE = 50

/** The rows of an embedded store in the order of their key; deliveries only after a position, if one is given. */
export function rowsOf(
  source: Database,
  { name, columns, key }: CopyTable,
  afterPosition: number | null,
): Iterable<Row> {
  const after = afterPosition === null ? '' : `WHERE position > ${afterPosition}`
  return source.iterate(`SELECT ${Object.keys(columns)} FROM ${name} ${after} ORDER BY ${key}`)
}

export function digestSource(source: Database, table: CopyTable): CopiedTable {
  const digest = createDigest(table)
  for (const row of rowsOf(source, table, null)) digest.add(row)
  return digest.end()
}

/** `query` must be that of a transaction. */
export async function digestTarget(
  query: Query,
  table: CopyTable,
  onRows: OnRows = () => undefined,
): Promise<CopiedTable> {
  const digest = createDigest(table)
  const { columns, name, key } = table
  await query(`DECLARE rows NO SCROLL CURSOR FOR SELECT ${Object.keys(columns)} FROM ${name} ORDER BY ${key}`)
  for (let read = 0; ; ) {
    const { rows } = await query(`FETCH ${FETCHED_AT_ONCE} FROM rows`)
    if (rows.length === 0) break
    for (const row of rows) digest.add(row)
    read += rows.length
    onRows(read)
  }
  await query('CLOSE rows')
  return digest.end()
}

function createDigest({ name, columns }: CopyTable) {
  const hash = createHash('sha256')
  const types = Object.entries(columns)
  let rows = 0
  return {
    add(row: Row): void {
      rows++
      hash.update(JSON.stringify(types.map(([column, type]) => canonical(row[column], type))))
    },
    end: (): CopiedTable => ({ name, rows, sha256: hash.digest('hex') }),
  }
}
