import { AppError } from '#src/lib/app-error.ts'
import { storeErrors } from '../store.errors.ts'
import type { Query } from './database.ts'

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
