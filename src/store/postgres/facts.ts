import type { StoreFacts } from '../store.ts'
import { WAITS_FOR_STANDBY } from './connection/safety.ts'
import type { Database } from './database.ts'
import { whyBehind, whyUnfit } from './fitness.ts'

/** PostgreSQL 14, as `server_version_num`. */
const OLDEST_VERSION = 140_000

/** A receiver of logical replication is no standby. */
const STANDBYS = `
  (SELECT count(*)::int FROM pg_stat_replication r
    WHERE NOT EXISTS (SELECT FROM pg_replication_slots s WHERE s.active_pid = r.pid AND s.slot_type = 'logical'))`

/** `numbackends` counts the sessions of all roles; pg_stat_activity hides what those of others are from a plain role. */
const FACTS = `
  SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS number,
         (extract(epoch FROM clock_timestamp()) * 1000)::float8 AS now,
         current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
           - coalesce(current_setting('reserved_connections', true)::int, 0) AS most,
         (SELECT sum(numbackends)::int FROM pg_stat_database) AS used,
         has_database_privilege('public', current_database(), 'CONNECT') AS open,
         ${STANDBYS} AS standbys, ${WAITS_FOR_STANDBY} AS synchronous`

/** The end of a partition is the smallest receipt after it, and a receipt begins with its milliseconds. */
const PARTITIONS_END = `
  SELECT max(substring(pg_get_expr(c.relpartbound, c.oid) FROM 'TO \\(''([0-9a-f]{8}-[0-9a-f]{4})-')) AS "end"
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = to_regclass('delivery')`

export async function readFacts(database: Database): Promise<StoreFacts> {
  const { query } = database
  const row = (await query(FACTS)).rows[0] as {
    version: string
    number: number
    now: number
    most: number
    used: number
    open: boolean
    standbys: number
    synchronous: boolean
  }
  const end = (await query(PARTITIONS_END)).rows[0]?.end as string | null
  return {
    database: `PostgreSQL ${row.version}`,
    supported: row.number >= OLDEST_VERSION,
    unfit: (await whyUnfit(database, true)) ?? (await whyBehind(query)) ?? null,
    now: row.now,
    connections: { used: row.used, most: row.most },
    openToAll: row.open,
    standbys: { connected: row.standbys, synchronous: row.synchronous },
    partitionsEnd: end === null ? null : Number.parseInt(end.replace('-', ''), 16),
    locks: null,
  }
}
