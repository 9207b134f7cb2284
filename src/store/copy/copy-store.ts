import { DatabaseSync } from 'node:sqlite'
import { AppError } from '#src/lib/app-error.ts'
import { openStore, openToRead, type StoreOptions, sqlitePath } from '../open-store.ts'
import { type Database, openDatabase, type Query } from '../postgres/database.ts'
import { storeErrors } from '../store.errors.ts'
import { claimTarget, recordCopy } from './copy-record.ts'
import { arrayType, COPY_TABLES, type CopyTable, canonical } from './copy-tables.ts'
import { type CopiedTable, digestSource, digestTarget, type OnRows, rowsOf } from './table-digest.ts'

export interface CopyOptions {
  /** The embedded store, and how a store is opened. */
  readonly from: StoreOptions
  /** The URL of the PostgreSQL database. */
  readonly to: string
  readonly now: number
  onProgress(table: string, done: number, all: number): void
}

export type { CopiedTable } from './table-digest.ts'

const MOST_ROWS = 1000
const MOST_CHARACTERS = 4_000_000

/**
 * Copies an embedded store into a PostgreSQL database that is empty, that an earlier run left unfinished, or that nobody has
 * changed since an earlier run finished. Adds the deliveries after the last one there and copies all other tables again. Then
 * reads every table back and compares it.
 */
export async function copyStore({ from, to, now, onProgress }: CopyOptions): Promise<CopiedTable[]> {
  const source = await openSource(from)
  try {
    await (await openStore({ ...from, databaseUrl: to }, now)).store.close()
    const target = await openDatabase({ url: to, connections: 2, timeoutSeconds: 600 })
    try {
      await claimTarget(source, target)
      for (const table of COPY_TABLES) await copyTable(source, target, table, onProgress)
      await target.query(`SELECT setval('last_position', (SELECT coalesce(max(position), 0) FROM delivery))`)
      for (const table of ['customer', 'audit_event']) {
        const sequence = `pg_get_serial_sequence('${table}', 'number')`
        await target.query(`SELECT setval(${sequence}, max(number)) FROM ${table} HAVING max(number) IS NOT NULL`)
      }
      const copied: CopiedTable[] = []
      for (const table of COPY_TABLES) copied.push(await compare(source, target, table, onProgress))
      await recordCopy(target, copied, now)
      return copied
    } finally {
      await target.close()
    }
  } finally {
    source.close()
  }
}

/** Opens the file read-only; what it reads is the state of this moment for as long as it is open. */
async function openSource(options: StoreOptions): Promise<DatabaseSync> {
  const { store, pending } = await openToRead(options)
  await store.close()
  const path = sqlitePath(options.databaseUrl)
  if (pending.length > 0)
    throw new AppError(storeErrors.older, { message: `${path} lacks ${pending.join(', ')}: run "teslim migrate".` })
  try {
    const source = new DatabaseSync(path, { readOnly: true })
    source.exec('PRAGMA busy_timeout = 5000; BEGIN')
    source.prepare('SELECT number FROM account_version').get()
    return source
  } catch (cause) {
    throw new AppError(storeErrors.cannotOpen, {
      message: `${path} cannot be copied: ${(cause as Error).message}`,
      cause,
    })
  }
}

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

async function compare(
  source: DatabaseSync,
  target: Database,
  table: CopyTable,
  onProgress: CopyOptions['onProgress'],
): Promise<CopiedTable> {
  const here = digestSource(source, table)
  const onRows: OnRows = (rows) => onProgress(`${table.name} (comparing)`, rows, here.rows)
  const there = await digestTarget(target, table, onRows)
  if (here.rows !== there.rows || here.sha256 !== there.sha256) {
    throw new Error(
      `table ${table.name} differs after the copy: ${here.rows} rows here, ${there.rows} there. Is another process writing to the target?`,
    )
  }
  return here
}
