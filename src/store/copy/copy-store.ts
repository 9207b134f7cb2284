import { openStore, type StoreOptions } from '../open-store.ts'
import { openDatabase, type Query } from '../postgres/database.ts'
import type { Database } from '../sqlite/database.ts'
import type { Moved } from '../sqlite/moved.ts'
import { claimTarget, lockTarget, recordCopy, refusePurged } from './copy-record.ts'
import { openSource } from './copy-source.ts'
import {
  type CopiedTable,
  type CopyTable,
  canonical,
  digestSource,
  digestTarget,
  findTables,
  type OnRows,
  rowsOf,
  smallOf,
} from './copy-tables.ts'

interface CopyOptions {
  /** The embedded store, and how a store is opened. */
  readonly from: StoreOptions
  /** The URL of the PostgreSQL database. */
  readonly to: string
  readonly now: number
  /** Whether servers may use the embedded store meanwhile, and afterwards: it is not marked as moved. */
  readonly whileServing?: boolean
  onProgress(table: string, done: number, all: number): void
}

export interface Copied {
  readonly tables: CopiedTable[]
  /** The number of endpoints that were active, and are paused in the copy. */
  readonly paused: number
  /** Whether the embedded store was changed since the copy began. */
  readonly changed: boolean
  /** What the embedded store was marked with, if it was. */
  readonly moved: Moved | undefined
}

export { takeBack } from './copy-source.ts'

const MAX_ROWS = 1000
const MAX_CHARACTERS = 4_000_000

/**
 * Copies an embedded store into a PostgreSQL database that is empty, that an earlier run left unfinished, or that nobody has
 * changed since an earlier run finished. Adds the deliveries after the last one there. Then, in one transaction, copies all
 * other tables again, reads every table back and compares it.
 */
export async function copyStore({ from, to, now, whileServing, onProgress }: CopyOptions): Promise<Copied> {
  const source = await openSource(from, to, now, whileServing === true)
  try {
    await (await openStore({ ...from, databaseUrl: to }, now)).store.close()
    const target = await openDatabase({ url: to, connections: 2, timeoutSeconds: 600 })
    try {
      const all = await findTables(source.database, target.query)
      const small = smallOf(all)
      await claimTarget(source.database, target, small, now)
      await refusePurged(source.database, target.query)
      for (const table of all.filter((each) => !small.includes(each)))
        await copyTable(source.database, target.query, table, onProgress)
      const copied = await target.transaction(async (query, direct) => {
        await lockTarget(source.database, query, small, direct)
        // The copied customers fill `erased_customer` again. Sessions are not copied.
        await query(`TRUNCATE ${small.map(({ name }) => name)}, erased_customer, console_session`)
        for (const table of small) await copyTable(source.database, query, table, onProgress)
        await setSequences(query)
        const tables: CopiedTable[] = []
        for (const table of all) tables.push(await compare(source.database, query, table, onProgress))
        const { paused, left } = await pauseWebhooks(query, all, tables, now)
        await recordCopy(query, left, now)
        // Not left to autovacuum, which may be minutes away, or off.
        await query(`ANALYZE ${all.map(({ name }) => name)}`)
        return { tables, paused }
      })
      return { ...copied, ...source.finish() }
    } finally {
      await target.close()
    }
  } finally {
    source.close()
  }
}

/** Unlike `setval`, RESTART is undone with the transaction, so an interrupted copy leaves `last_position` as it was. */
async function setSequences(query: Query): Promise<void> {
  const purged = Number((await query('SELECT position FROM purge')).rows[0]?.position)
  await query(`ALTER SEQUENCE last_position RESTART WITH ${Math.max((await lastPosition(query)) ?? 0, purged)}`)
  for (const table of ['customer', 'audit_event', 'refused_delivery', 'webhook_attempt']) {
    const sequence = `pg_get_serial_sequence('${table}', 'number')`
    await query(`SELECT setval(${sequence}, max(number)) FROM ${table} HAVING max(number) IS NOT NULL`)
  }
}

/** Pauses the endpoints of the copy: those of the embedded store may go on. Returns their number, and the tables as they are now. */
async function pauseWebhooks(query: Query, all: readonly CopyTable[], tables: readonly CopiedTable[], now: number) {
  const table = all.find(({ name }) => name === 'webhook') as CopyTable
  const { count } = await query(PAUSE, now)
  const changed = await digestTarget(query, table)
  return { paused: count, left: tables.map((each) => (each.name === table.name ? changed : each)) }
}

const PAUSE = `
  UPDATE webhook SET paused_reason = 'restored', paused_at = $1, version = version + 1 WHERE paused_at IS NULL`

async function copyTable(
  source: Database,
  query: Query,
  table: CopyTable,
  onProgress: CopyOptions['onProgress'],
): Promise<void> {
  const columns = Object.entries(table.columns)
  const names = columns.map(([name]) => name)
  const places = columns.map(([, type], index) => `$${index + 1}::${type}[]`)
  const insert = `INSERT INTO ${table.name} (${names}) SELECT * FROM unnest(${places})`
  const all = countOf(source, table)
  const there = table.name === 'delivery' ? await lastPosition(query) : null
  let done =
    there === null ? 0 : (source.get('SELECT count(*) AS n FROM delivery WHERE position <= $1', there)?.n as number)
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
    for (const [index, [name, type]] of columns.entries()) {
      const value = canonical(row[name], type)
      page[index]?.push(type === 'bytea' && value !== null ? `\\x${value}` : value)
      characters += value?.length ?? 0
    }
    if (characters > MAX_CHARACTERS || page[0]?.length === MAX_ROWS) await flush()
  }
  await flush()
}

const countOf = (source: Database, { name }: CopyTable): number =>
  source.get(`SELECT count(*) AS n FROM ${name}`)?.n as number

const lastPosition = async (query: Query): Promise<number | null> =>
  (await query('SELECT max(position) AS last FROM delivery')).rows[0]?.last as number | null

async function compare(
  source: Database,
  query: Query,
  table: CopyTable,
  onProgress: CopyOptions['onProgress'],
): Promise<CopiedTable> {
  const here = digestSource(source, table)
  const onRows: OnRows = (rows) => onProgress(`${table.name} (comparing)`, rows, here.rows)
  const there = await digestTarget(query, table, onRows)
  if (here.rows !== there.rows || here.sha256 !== there.sha256) {
    throw new Error(
      `table ${table.name} differs after the copy: ${here.rows} rows here, ${there.rows} there. Is another process writing to the target?`,
    )
  }
  return here
}
