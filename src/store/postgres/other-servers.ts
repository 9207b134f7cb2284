import { AppError } from '#src/lib/app-error.ts'
import { storeErrors } from '../store.errors.ts'
import { SERVERS } from './connection/presence.ts'
import type { Database, Query } from './database.ts'

/** Every role sees the locks of all roles. Locks of another database may have the same numbers. */
const COUNT = `
  SELECT count(DISTINCT objid)::integer AS count
    FROM pg_locks
   WHERE locktype = 'advisory' AND classid = ${SERVERS} AND objsubid = 2
     AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

export const countReplicas = ({ transaction }: Pick<Database, 'transaction'>): Promise<number | undefined> =>
  transaction(async (query, direct) => (direct ? ((await query(COUNT)).rows[0]?.count as number) : undefined))

/** Finds servers, also those that have changed nothing yet. A pooler keeps sessions of servers that have ended. */
export async function refuseSessions(query: Query): Promise<void> {
  const { rows } = await query(`SELECT pid FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
      AND application_name IN ('teslim', current_setting('application_name'))`)
  if (rows.length > 0) {
    throw new AppError(storeErrors.inUse, {
      message: `The database is in use: pg_stat_activity has other sessions of teslim (pid ${rows.map(({ pid }) => pid).join(', ')}). Stop every server on it first.`,
    })
  }
}
