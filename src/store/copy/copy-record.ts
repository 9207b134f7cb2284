import { AppError } from '#src/lib/app-error.ts'
import { refuseSessions } from '../postgres/connection/replicas.ts'
import type { Query, Database as Target } from '../postgres/database.ts'
import type { Database } from '../sqlite/database.ts'
import { storeErrors } from '../store.errors.ts'
import { type CopiedTable, type CopyTable, canonical, digestTarget } from './copy-tables.ts'

/**
 * Makes the table `store_copy` in an empty target. It says which store is copied into it, and what the target held when the last
 * copy was finished, or before the first: a copy is refused once anything else has changed since.
 */
export const claimTarget = (
  source: Database,
  { transaction }: Target,
  small: readonly CopyTable[],
  now: number,
): Promise<void> =>
  transaction(async (query, direct) => {
    await query('LOCK TABLE customer IN EXCLUSIVE MODE')
    const known = await query(`SELECT FROM pg_tables WHERE tablename = 'store_copy' AND schemaname = current_schema`)
    if (known.count === 0) {
      for (const table of ['customer', 'delivery', 'signing_key']) {
        if ((await query(`SELECT FROM ${table} LIMIT 1`)).count > 0) throw refused(`its table ${table} is not empty`)
      }
      await query('CREATE TABLE store_copy (source text PRIMARY KEY, finished text)')
      await query('INSERT INTO store_copy (source) VALUES ($1)', identityOf(source))
      await query('UPDATE purge SET generation = $1, erasures = $2', ...removalsOf(source.get(REMOVALS)))
      const tables: CopiedTable[] = []
      for (const table of small) tables.push(await digestTarget(query, table))
      await recordCopy(query, tables, now)
    }
    await refuseUsed(source, query, small, direct)
  })

/** Keeps others from changing the target until the end of the transaction, and refuses if they have changed it before. */
export async function lockTarget(
  source: Database,
  query: Query,
  small: readonly CopyTable[],
  direct: boolean,
): Promise<void> {
  await query('SET LOCAL idle_in_transaction_session_timeout = 0')
  // The lock of `deliver_1`.
  await query(`SELECT pg_advisory_xact_lock(7425, 'last_position'::regclass::oid::integer)`)
  await query(`LOCK TABLE ${small.map(({ name }) => name)} IN ACCESS EXCLUSIVE MODE`)
  await refuseUsed(source, query, small, direct)
}

/** Deliveries are only added to the target, so what was removed or erased here since an earlier run would stay there. */
export async function refusePurged(source: Database, query: Query): Promise<void> {
  if ((await query('SELECT FROM delivery LIMIT 1')).count === 0) return
  const there = removalsOf((await query(REMOVALS)).rows[0])
  const here = removalsOf(source.get(REMOVALS))
  if (there.some((count, index) => count !== here[index]))
    throw refused('deliveries were removed or erased here since they were copied into it')
}

const REMOVALS = 'SELECT generation, erasures FROM purge'
const removalsOf = (row: Record<string, unknown> | undefined) => [Number(row?.generation), Number(row?.erasures)]

interface Finished {
  readonly at: number
  readonly lastPosition: number
  readonly tables: readonly CopiedTable[]
}

/** Remembers what the target holds now. */
export async function recordCopy(query: Query, tables: readonly CopiedTable[], now: number): Promise<void> {
  const finished: Finished = { at: now, lastPosition: await lastPosition(query), tables }
  await query('UPDATE store_copy SET finished = $1', JSON.stringify(finished))
}

async function refuseUsed(source: Database, query: Query, small: readonly CopyTable[], direct: boolean): Promise<void> {
  if (direct) await refuseSessions(query)
  const record = (await query('SELECT source, finished FROM store_copy')).rows[0]
  if (record?.source !== identityOf(source)) throw refused('it holds a copy of another store')
  await refuseChanged(query, small, JSON.parse(String(record.finished)))
  await refuseUnknownDelivery(source, query)
}

const identityOf = (source: Database): string =>
  JSON.stringify(source.get('SELECT id FROM customer ORDER BY number LIMIT 1') ?? null)

/** The sequence, which counts a delivery even if its row was deleted since. Copied deliveries count once the copy is finished. */
const lastPosition = async (query: Query): Promise<number> =>
  Number((await query('SELECT last_value FROM last_position')).rows[0]?.last_value)

/** A store that was restored from a backup no longer has all that was copied from it. */
async function refuseUnknownDelivery(source: Database, query: Query): Promise<void> {
  const [last] = (await query('SELECT position, receipt FROM delivery ORDER BY position DESC LIMIT 1')).rows
  if (last === undefined) return
  const here = source.get('SELECT receipt FROM delivery WHERE position = $1', last.position as number)
  if (here === undefined || canonical(here.receipt, 'uuid') !== last.receipt)
    throw refused(`its last delivery, ${last.receipt}, is not in this store`)
}

async function refuseChanged(
  query: Query,
  small: readonly CopyTable[],
  { at, lastPosition: position, tables }: Finished,
): Promise<void> {
  const since = `since the copy of ${new Date(at).toISOString()}`
  const serves = 'it is in use on its own, and a second copy would undo that'
  if ((await lastPosition(query)) !== position) throw refused(`deliveries were stored in it ${since}; ${serves}`)
  for (const table of small) {
    const { rows, sha256 } = await digestTarget(query, table)
    const before = tables.find(({ name }) => name === table.name)
    if (rows !== before?.rows || sha256 !== before.sha256)
      throw refused(`its table ${table.name} was changed ${since}; ${serves}`)
  }
}

const refused = (why: string): AppError =>
  new AppError(storeErrors.cannotOpen, {
    message: `The database cannot be copied into: ${why}. Name an empty one.`,
  })
