import type { QueryResult } from 'pg'
import { isNoFunction, ReadOnlyServer, UnsafeServer } from './failures.ts'
import { DURABILITY, ISOLATION, whyNotDurable, whyUnsafeIsolation } from './safety.ts'

/**
 * SQL for the history that a server continues: its cluster, and the timeline, of which every promotion begins a new one with a
 * higher number. NULL at a standby.
 */
const TIMELINE = `CASE WHEN NOT pg_is_in_recovery()
    THEN (SELECT system_identifier FROM pg_control_system()) || '/' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8) END`

/** What the statement that begins a session answers. */
export interface Beginning {
  readonly direct: boolean
  readonly read_only: boolean
  readonly durability: string
  readonly isolation: string
  /** Null where it is not known. */
  readonly timeline: string | null
}

/**
 * Detects a pooler by its process number, which differs from the one of the server process. Without a pooler the session is
 * ours to configure: the server then cancels what we no longer wait for, and ends sessions that lost their network.
 */
const statement = (processId: number, timeoutSeconds: number, withTimeline: boolean): string => {
  const settings = {
    statement_timeout: `${timeoutSeconds}s`,
    idle_in_transaction_session_timeout: `${timeoutSeconds}s`,
    // A commit that stopped waiting for a standby is reported as a warning only.
    client_min_messages: 'warning',
    // `deliver_1` must see what was committed while it waited.
    default_transaction_isolation: 'read committed',
    // Planning takes longer than running, and the plan should not depend on values (decision 37). Estimates are high without them.
    plan_cache_mode: 'force_generic_plan',
    jit: 'off',
    // Our statements walk along an index up to a limit. Without statistics the planner would rather read or sort a large table (decision 37).
    enable_seqscan: 'off',
    enable_bitmapscan: 'off',
    // A page of a table of millions tempts it to start processes, which takes longer than the page.
    max_parallel_workers_per_gather: '0',
    tcp_keepalives_idle: '5',
    tcp_keepalives_interval: '5',
    tcp_keepalives_count: '3',
  }
  const set = Object.entries(settings).map(([name, value]) => `set_config('${name}', '${value}', false)`)
  return `SELECT pg_backend_pid() = ${processId} AS direct, current_setting('transaction_read_only') = 'on' AS read_only, ${DURABILITY} AS durability, ${ISOLATION} AS isolation, ${withTimeline ? TIMELINE : 'NULL'} AS timeline,
    CASE WHEN pg_backend_pid() = ${processId} THEN concat(${set.join(', ')}) END`
}

interface Session {
  readonly processId: number
  query(sql: string): Promise<QueryResult>
}

/** Runs the first statement, without the timeline at a server that refused to tell it before. */
export async function beginSession(
  session: Session,
  server: { hasTimeline: boolean },
  timeoutSeconds: number,
): Promise<Beginning> {
  try {
    return (await session.query(statement(session.processId, timeoutSeconds, server.hasTimeline))).rows[0]
  } catch (error) {
    if (!server.hasTimeline || !isNoFunction(error)) throw error
    server.hasTimeline = false
    return beginSession(session, server, timeoutSeconds)
  }
}

/** Throws if the session must not be used. */
export function judgeSession({ direct, read_only: readOnly, durability, isolation }: Beginning): void {
  if (readOnly) throw new ReadOnlyServer('the server is a standby or read-only')
  const why = whyNotDurable(durability) ?? (direct ? undefined : whyUnsafeIsolation(isolation))
  if (why !== undefined) throw new UnsafeServer(why)
}
