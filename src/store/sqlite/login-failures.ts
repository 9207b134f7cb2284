import type { LoginFailureStore } from '../store.ts'
import type { Database } from './database.ts'
import { type Operations, type StoreThread, sendOperations } from './thread/operations.ts'

const FIND = 'SELECT count, last_at FROM login_failure WHERE name = $1 AND expires_at > $2'

const COUNT = `
  INSERT INTO login_failure (name, count, last_at, expires_at) VALUES ($1, 1, $2, $3)
  ON CONFLICT (name) DO UPDATE
     SET count = CASE WHEN expires_at > excluded.last_at THEN count + 1 ELSE 1 END,
         last_at = excluded.last_at, expires_at = excluded.expires_at
  RETURNING count`

const PURGE = `
  DELETE FROM login_failure WHERE name IN (
    SELECT name FROM login_failure WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2
  )`

const COUNT_DOWN = `
  UPDATE login_failure
     SET count = max(count - 1, 0), last_at = CASE WHEN last_at = $1 AND count = $2 THEN $3 ELSE last_at END
   WHERE name = $4`

const REMEMBER = `
  INSERT INTO login_failure (name, count, last_at, expires_at) VALUES ($1, 0, $2, $3)
  ON CONFLICT (name) DO UPDATE SET last_at = excluded.last_at, expires_at = excluded.expires_at`

/** Run by the writer thread. */
export const loginFailureWrites = {
  count: (database, failures, now) =>
    database.transaction(() => {
      const counts = failures.map(({ name, expiresAt }) => Number(database.get(COUNT, name, now, expiresAt)?.count))
      database.run(PURGE, now, 2 * failures.length)
      return counts
    }),
  settle: (database, { forget, countDown, remember }, now) =>
    database.transaction(() => {
      for (const name of forget) database.run('DELETE FROM login_failure WHERE name = $1', name)
      for (const { name, countedAt, countedAs, lastAt } of countDown) {
        database.run(COUNT_DOWN, countedAt, countedAs, lastAt, name)
      }
      for (const { name, expiresAt } of remember) database.run(REMEMBER, name, now, expiresAt)
    }),
} satisfies Operations<LoginFailureStore>

export const sqliteLoginFailures = (database: Database, writer: StoreThread): LoginFailureStore => ({
  ...sendOperations(loginFailureWrites, writer, 'loginFailures'),
  find: async (names, now) =>
    names.map((name) => {
      const row = database.get(FIND, name, now)
      return row && { count: row.count as number, lastAt: row.last_at as number }
    }),
})
