import { createHash } from 'node:crypto'
import type { DatabaseSync } from 'node:sqlite'
import type { Query, Row } from '../postgres/database.ts'
import { type CopyTable, canonical } from './copy-tables.ts'

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
  source: DatabaseSync,
  { name, columns, key }: CopyTable,
  afterPosition: number | null,
): Iterable<Row> {
  const after = afterPosition === null ? '' : `WHERE position > ${afterPosition}`
  return source
    .prepare(`SELECT ${Object.keys(columns)} FROM ${name} ${after} ORDER BY ${key}`)
    .iterate() as Iterable<Row>
}

export function digestSource(source: DatabaseSync, table: CopyTable): CopiedTable {
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
  const kinds = Object.entries(columns)
  let rows = 0
  return {
    add(row: Row): void {
      rows++
      hash.update(JSON.stringify(kinds.map(([column, kind]) => canonical(row[column], kind))))
    },
    end: (): CopiedTable => ({ name, rows, sha256: hash.digest('hex') }),
  }
}
