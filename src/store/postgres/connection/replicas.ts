import { AppError } from '#src/lib/app-error.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import type { Connection, Query } from './connection.ts'

/** The first number of the advisory locks by which servers are counted. The second one is different for each server. */
const SERVERS = 7426

/** Every role sees the locks of all roles. Locks of another database may have the same numbers. */
const COUNT = `
  SELECT count(DISTINCT objid)::integer AS count
    FROM pg_locks
   WHERE locktype = 'advisory' AND classid = ${SERVERS} AND objsubid = 2
     AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

const SESSIONS = `
  SELECT pid FROM pg_stat_activity
   WHERE datname = current_database() AND pid <> pg_backend_pid()
     AND application_name IN ('teslim', current_setting('application_name'))`

/** Shows until the connection ends that a server works on the database. Behind a pooler the lock would stay with one of its connections. */
export async function showPresence({ direct, query }: Connection, server: number): Promise<void> {
  // A server that is not counted still works.
  if (direct) await query(`SELECT pg_advisory_lock_shared(${SERVERS}, ${server})`).catch(() => undefined)
}

export const countReplicas = async (query: Query): Promise<number> => (await query(COUNT)).rows[0]?.count as number

/** Finds servers, also those that have changed nothing yet. A pooler keeps sessions of servers that have ended. */
export async function refuseSessions(query: Query): Promise<void> {
  const { rows } = await query(SESSIONS)
  if (rows.length > 0) {
    throw new AppError(storeErrors.inUse, {
      message: `The database is in use: pg_stat_activity has other sessions of teslim (pid ${rows.map(({ pid }) => pid).join(', ')}). Stop every server on it first.`,
    })
  }
}
