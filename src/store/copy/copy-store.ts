import { createHash } from 'node:crypto'
import { resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { AppError } from '#src/lib/app-error.ts'
import { openStore, type StoreOptions, sqlitePath } from '../open-store.ts'
import { type Database, openDatabase, type Query, type Row } from '../postgres/database.ts'
import { storeErrors } from '../store.errors.ts'
import { arrayType, COPY_TABLES, type CopyTable, canonical } from './copy-tables.ts'

export interface CopyOptions {
  /** The embedded store, and how a store is opened. */
  readonly from: StoreOptions
  /** The URL of the PostgreSQL database. */
  readonly to: string
  readonly now: number
  onProgress(table: string, done: number, all: number): void
}

export interface CopiedTable {
  readonly name: string
  readonly rows: number
  /** Of the rows on both sides, in the order of their key. */
  readonly sha256: string
}

const MOST_ROWS = 1000
const MOST_CHARACTERS = 4_000_000
/** Payloads may have a mebibyte each. */
const FETCHED_AT_ONCE = 50

/**
 * Copies an embedded store into a PostgreSQL database that is empty, or that an earlier run left unfinished: deliveries go
 * on after the last one that is there, all else is copied again. Then every table is read back and compared.
 */
export async function copyStore({ from, to, now, onProgress }: CopyOptions): Promise<CopiedTable[]> {
  const source = openSource(from)
  try {
    await (await openStore({ ...from, databaseUrl: to }, now)).store.close()
    const target = await openDatabase({ url: to, connections: 2, timeoutSeconds: 600 })
    try {
      await claim(source, target)
      for (const table of COPY_TABLES) await copyTable(source, target, table, onProgress)
      await target.query(`SELECT setval('last_position', (SELECT coalesce(max(position), 0) FROM delivery))`)
      for (const table of ['customer', 'audit_event']) {
        const sequence = `pg_get_serial_sequence('${table}', 'number')`
        await target.query(`SELECT setval(${sequence}, max(number)) FROM ${table} HAVING max(number) IS NOT NULL`)
      }
      const copied: CopiedTable[] = []
      for (const table of COPY_TABLES) copied.push(await compare(source, target, table, onProgress))
      await target.query('DROP TABLE copy_under_way')
      return copied
    } finally {
      await target.close()
    }
  } finally {
    source.close()
  }
}

/** Read-only, and as it is at this moment for as long as it is open. */
function openSource({ databaseUrl }: StoreOptions): DatabaseSync {
  const path = resolve(sqlitePath(databaseUrl))
  try {
    const source = new DatabaseSync(path, { readOnly: true })
    source.exec('PRAGMA busy_timeout = 5000; BEGIN')
    source.prepare('SELECT number FROM account_version').get()
    return source
  } catch (cause) {
    throw new AppError(storeErrors.cannotOpen, {
      message: `${path} cannot be copied: ${(cause as Error).message}. Is it a store, and of this version (teslim migrate)?`,
      cause,
    })
  }
}

/** Marks the target as ours, so that a second run may go on and nothing that was there before is ever lost. */
async function claim(source: DatabaseSync, { query, transaction }: Database): Promise<void> {
  const identity = JSON.stringify(source.prepare('SELECT id FROM customer ORDER BY number LIMIT 1').get() ?? null)
  await transaction(async (query) => {
    await query('LOCK TABLE customer IN EXCLUSIVE MODE')
    const begun =
      (await query(`SELECT 1 FROM pg_tables WHERE tablename = 'copy_under_way' AND schemaname = current_schema`))
        .count > 0
    if (begun) {
      const { rows } = await query('SELECT source FROM copy_under_way')
      if (rows[0]?.source === identity) return
      throw refused('it holds an unfinished copy of another store')
    }
    for (const table of ['customer', 'delivery', 'signing_key']) {
      if ((await query(`SELECT FROM ${table} LIMIT 1`)).count > 0) throw refused(`its table ${table} is not empty`)
    }
    await query('CREATE TABLE copy_under_way (source text NOT NULL)')
    await query('INSERT INTO copy_under_way (source) VALUES ($1)', identity)
  })
  const small = COPY_TABLES.map(({ name }) => name).filter((name) => name !== 'delivery')
  await query(`TRUNCATE ${small.join(', ')}`)
}

const refused = (why: string): AppError =>
  new AppError(storeErrors.cannotOpen, { message: `The database cannot be copied into: ${why}. Name an empty one.` })

async function copyTable(
  source: DatabaseSync,
  { query }: Database,
  table: CopyTable,
  onProgress: CopyOptions['onProgress'],
): Promise<void> {
  const columns = Object.entries(table.columns)
  const names = columns.map(([name]) => name)
  const places = columns.map(([, kind], index) => `$${index + 1}::${arrayType[kind]}`)
  const insert = `INSERT INTO ${table.name} (${names}) SELECT * FROM unnest(${places})`
  const all = countOf(source, table)
  const there = table.name === 'delivery' ? await lastPosition(query) : null
  let done =
    there === null
      ? 0
      : (source.prepare('SELECT count(*) AS n FROM delivery WHERE position <= ?').get(there)?.n as number)
  let page: (string | null)[][] = columns.map(() => [])
  let characters = 0

  const flush = async (): Promise<void> => {
    const rows = page[0]?.length ?? 0
    if (rows === 0) return
    await query(insert, ...page)
    done += rows
    page = columns.map(() => [])
    characters = 0
    onProgress(table.name, done, all)
  }

  for (const row of rowsOf(source, table, there)) {
    for (const [index, [name, kind]] of columns.entries()) {
      const value = canonical(row[name], kind)
      page[index]?.push(kind === 'bytes' && value !== null ? `\\x${value}` : value)
      characters += value?.length ?? 0
    }
    if (characters > MOST_CHARACTERS || page[0]?.length === MOST_ROWS) await flush()
  }
  await flush()
}

const countOf = (source: DatabaseSync, { name }: CopyTable): number =>
  source.prepare(`SELECT count(*) AS n FROM ${name}`).get()?.n as number

const lastPosition = async (query: Query): Promise<number | null> =>
  (await query('SELECT max(position) AS last FROM delivery')).rows[0]?.last as number | null

function rowsOf(source: DatabaseSync, { name, columns, key }: CopyTable, afterPosition: number | null): Iterable<Row> {
  const after = afterPosition === null ? '' : `WHERE position > ${afterPosition}`
  return source
    .prepare(`SELECT ${Object.keys(columns)} FROM ${name} ${after} ORDER BY ${key}`)
    .iterate() as Iterable<Row>
}

async function compare(
  source: DatabaseSync,
  { transaction }: Database,
  table: CopyTable,
  onProgress: CopyOptions['onProgress'],
): Promise<CopiedTable> {
  const here = createDigest(table)
  for (const row of rowsOf(source, table, null)) here.add(row)
  const there = createDigest(table)
  await transaction(async (query) => {
    const { columns, name, key } = table
    await query(`DECLARE rows NO SCROLL CURSOR FOR SELECT ${Object.keys(columns)} FROM ${name} ORDER BY ${key}`)
    for (;;) {
      const { rows } = await query(`FETCH ${FETCHED_AT_ONCE} FROM rows`)
      if (rows.length === 0) break
      for (const row of rows) there.add(row)
      onProgress(`${name} (comparing)`, there.rows(), here.rows())
    }
  })
  const sha256 = here.end()
  if (here.rows() !== there.rows() || sha256 !== there.end()) {
    throw new Error(
      `table ${table.name} differs after the copy: ${here.rows()} rows here, ${there.rows()} there. Is another process writing to the target?`,
    )
  }
  return { name: table.name, rows: here.rows(), sha256 }
}

function createDigest({ columns }: CopyTable) {
  const hash = createHash('sha256')
  const kinds = Object.entries(columns)
  let rows = 0
  return {
    add(row: Row): void {
      rows++
      hash.update(JSON.stringify(kinds.map(([name, kind]) => canonical(row[name], kind))))
    },
    rows: () => rows,
    end: () => hash.digest('hex'),
  }
}
