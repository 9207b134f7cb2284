import type { DatabaseSync } from 'node:sqlite'
import { AppError } from '#src/lib/app-error.ts'
import type { Database, Query } from '../postgres/database.ts'
import { storeErrors } from '../store.errors.ts'
import { COPY_TABLES, canonical } from './copy-tables.ts'
import { type CopiedTable, digestTarget } from './table-digest.ts'

/** Everything but deliveries, which are only ever added. */
const SMALL_TABLES = COPY_TABLES.filter(({ name }) => name !== 'delivery')

/**
 * The table `store_copy` of the target says which store is copied into it and, once a copy is finished, what every table held
 * then: another run may go on as long as nobody else has changed anything. Empties all tables but the deliveries.
 */
export async function claimTarget(source: DatabaseSync, target: Database): Promise<void> {
  const { query, transaction } = target
  const identity = JSON.stringify(source.prepare('SELECT id FROM customer ORDER BY number LIMIT 1').get() ?? null)
  await transaction(async (query) => {
    await query('LOCK TABLE customer IN EXCLUSIVE MODE')
    const known = await query(`SELECT FROM pg_tables WHERE tablename = 'store_copy' AND schemaname = current_schema`)
    if (known.count > 0) return
    for (const table of ['customer', 'delivery', 'signing_key']) {
      if ((await query(`SELECT FROM ${table} LIMIT 1`)).count > 0) throw refused(`its table ${table} is not empty`)
    }
    await query('CREATE TABLE store_copy (source text NOT NULL, finished text)')
    await query('INSERT INTO store_copy (source) VALUES ($1)', identity)
  })
  const record = (await query('SELECT source, finished FROM store_copy')).rows[0]
  if (record?.source !== identity) throw refused('it holds a copy of another store')
  if (typeof record.finished === 'string') await refuseChanged(target, JSON.parse(record.finished))
  await refuseUnknownDelivery(source, query)
  await query('UPDATE store_copy SET finished = NULL')
  await query(`TRUNCATE ${SMALL_TABLES.map(({ name }) => name).join(', ')}`)
}

interface Finished {
  readonly at: number
  readonly lastPosition: number
  readonly tables: readonly CopiedTable[]
}

/** Remembers what the target holds now that the copy is finished. */
export async function recordCopy({ query }: Database, tables: readonly CopiedTable[], now: number): Promise<void> {
  const finished: Finished = { at: now, lastPosition: await lastPosition(query), tables }
  await query('UPDATE store_copy SET finished = $1', JSON.stringify(finished))
}

/** The sequence, which counts a delivery even if its row was deleted since. */
const lastPosition = async (query: Query): Promise<number> =>
  Number((await query('SELECT last_value FROM last_position')).rows[0]?.last_value)

/** A store that was restored from a backup no longer has all that was copied from it. */
async function refuseUnknownDelivery(source: DatabaseSync, query: Query): Promise<void> {
  const [last] = (await query('SELECT position, receipt FROM delivery ORDER BY position DESC LIMIT 1')).rows
  if (last === undefined) return
  const here = source.prepare('SELECT receipt FROM delivery WHERE position = ?').get(last.position as number)
  if (here === undefined || canonical(here.receipt, 'uuid') !== last.receipt)
    throw refused(`its last delivery, ${last.receipt}, is not in this store`)
}

async function refuseChanged(target: Database, { at, lastPosition: position, tables }: Finished): Promise<void> {
  const since = `since the copy of ${new Date(at).toISOString()} was finished`
  const serves = 'it is in use on its own, and a second copy would undo that'
  if ((await lastPosition(target.query)) !== position) throw refused(`deliveries were stored in it ${since}; ${serves}`)
  for (const table of SMALL_TABLES) {
    const { rows, sha256 } = await digestTarget(target, table)
    const before = tables.find(({ name }) => name === table.name)
    if (rows !== before?.rows || sha256 !== before.sha256)
      throw refused(`its table ${table.name} was changed ${since}; ${serves}`)
  }
}

const refused = (why: string): AppError =>
  new AppError(storeErrors.cannotOpen, {
    message: `The database cannot be copied into: ${why}. Name an empty one.`,
  })
