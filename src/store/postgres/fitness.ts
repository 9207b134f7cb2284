import { randomInt } from 'node:crypto'
import { AppError, reasonOf } from '#src/lib/app-error.ts'
import { APPLIED, type Applied, type Migration } from '../migrate.ts'
import { storeErrors } from '../store.errors.ts'
import type { StoreFacts } from '../store.ts'
import { WAITS_FOR_STANDBY } from './connection/safety.ts'
import type { Database, Query, Row } from './database.ts'
import { whyForeign } from './foreign-code.ts'

/** The first number of the advisory locks that are taken only to see whether locks work. */
const TRIALS = 7427

const TRY = 'SELECT pg_try_advisory_xact_lock($1, $2) AS locked'

/** They speak the protocol of PostgreSQL, and say what they are. */
const OTHERS: readonly (readonly [name: string, version: RegExp])[] = [
  ['CockroachDB', /CockroachDB/],
  ['YugabyteDB', /-YB-/],
]

const STATEMENT_MODE =
  'The pooler before the database is in statement mode, which allows no transactions: set pool_mode = transaction in PgBouncer.'

const NO_LOCKS =
  'Advisory locks do nothing in this database: two sessions got the same one at once, so deliveries would be stored out of order and followers would miss some. DATABASE_URL must lead every session to the same PostgreSQL server.'

/** Says why teslim cannot use this database; undefined if it can. Locks are tried only with `toServe`: that takes a second connection. */
export async function whyUnfit({ transaction, lookUp }: Database, toServe: boolean): Promise<string | undefined> {
  const lock = [TRIALS, randomInt(2 ** 31)]
  try {
    return await transaction(async (query) => {
      const version = String((await query('SELECT version() AS version')).rows[0]?.version)
      const other = OTHERS.find(([, pattern]) => pattern.test(version))
      if (other !== undefined)
        return `The database is ${other[0]} (${version}), where locks and sequences do not work as in PostgreSQL, so followers would miss deliveries: use PostgreSQL.`
      const [first] = (await query(TRY, ...lock)).rows
      // A pooler with a single connection has none for this until the first one ends: then there are no two to compare.
      const second = toServe ? await lookUp(TRY, ...lock).catch(() => undefined) : undefined
      return first?.locked === true && second?.rows[0]?.locked !== true ? undefined : NO_LOCKS
    })
  } catch (error) {
    if (reasonOf(error).includes('statement pooling mode')) return STATEMENT_MODE
    throw error
  }
}

/** What each sequence gave out last, and the highest number in its table. A role that may not read a sequence does not check it. */
const SEQUENCES = `
  SELECT name, last, highest
    FROM (SELECT 'last_position' AS name, last_value AS last, (SELECT max(position) FROM delivery) AS highest FROM last_position
          UNION ALL
          SELECT name, CASE WHEN has_sequence_privilege(name, 'SELECT') THEN coalesce(pg_sequence_last_value(name::regclass), 0) END, highest
            FROM (VALUES ('customer_number_seq', (SELECT max(number) FROM customer)),
                         ('audit_event_number_seq', (SELECT max(number) FROM audit_event)),
                         ('refused_delivery_number_seq', (SELECT max(number) FROM refused_delivery)),
                         ('webhook_attempt_number_seq', (SELECT max(number) FROM webhook_attempt))) numbers (name, highest)) each
   WHERE last < highest`

/**
 * Says which sequences are behind their tables; undefined if none is. Logical replication copies rows only: the next deliveries would
 * get positions that followers have passed.
 */
async function whyBehind(query: Query): Promise<string | undefined> {
  const { rows } = await query(SEQUENCES)
  if (rows.length === 0) return undefined
  const which = rows.map(({ name, last, highest }) => `${name} is at ${last}, its table at ${highest}`).join('; ')
  const set = rows.map(({ name, highest }) => `setval('${name}', ${highest})`).join(', ')
  return `Numbers would be given out twice, and followers would miss deliveries: ${which}. Logical replication does not copy sequences. Run SELECT ${set} while no server uses the database; if teslim copy was interrupted, run that again instead.`
}

/** Says why no server may go on with what is stored; undefined if one may. */
export const whyUnsound = async (query: Query, known: readonly Migration[]): Promise<string | undefined> =>
  (await whyForeign(query, known, (await appliedTo(query)).length)) ?? (await whyBehind(query))

export async function appliedTo(query: Query): Promise<Applied[]> {
  const { rows } = await query(`SELECT to_regclass('schema_migration') IS NOT NULL AS there`)
  if (rows[0]?.there !== true) return []
  return (await query(APPLIED)).rows as unknown as Applied[]
}

/** Throws if there is a reason. */
export function refuseIf(why: string | undefined): void {
  if (why !== undefined) throw new AppError(storeErrors.cannotOpen, { message: why })
}

/** PostgreSQL 14, as `server_version_num`. */
const OLDEST_VERSION = 140_000

/** A receiver of logical replication is no standby. */
const STANDBYS = `
  (SELECT count(*)::int FROM pg_stat_replication r
    WHERE NOT EXISTS (SELECT FROM pg_replication_slots s WHERE s.active_pid = r.pid AND s.slot_type = 'logical'))`

/** The end of a partition is the smallest receipt after it, and a receipt begins with its milliseconds. */
const PARTITIONS_END = `
  SELECT max(substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \\(''([0-9a-f]{8}-[0-9a-f]{4})-'))
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = to_regclass('delivery')`

/** `numbackends` counts the sessions of all roles; pg_stat_activity hides what those of others are from a plain role. */
const FACTS = `
  SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS number,
         (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now,
         current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
           - coalesce(current_setting('reserved_connections', true)::int, 0) AS most,
         (SELECT sum(numbackends)::int FROM pg_stat_database) AS used,
         has_database_privilege('public', current_database(), 'CONNECT') AS open,
         ${STANDBYS} AS standbys, ${WAITS_FOR_STANDBY} AS synchronous, (${PARTITIONS_END}) AS "end"`

export async function readFacts(database: Database, known: readonly Migration[]): Promise<StoreFacts> {
  const { query } = database
  const row = (await query(FACTS)).rows[0] as Row
  const end = row.end as string | null
  return {
    database: `PostgreSQL ${row.version}`,
    supported: Number(row.number) >= OLDEST_VERSION,
    unfit: (await whyUnfit(database, true)) ?? (await whyUnsound(query, known)) ?? null,
    now: row.now as number,
    connections: { used: row.used as number, most: row.most as number },
    openToAll: row.open as boolean,
    standbys: { connected: row.standbys as number, synchronous: row.synchronous as boolean },
    partitionsEnd: end === null ? null : Number.parseInt(end.replace('-', ''), 16),
    locks: null,
  }
}
