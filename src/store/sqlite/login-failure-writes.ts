import type { LoginFailureStore } from '../store.ts'
import type { Database } from './database.ts'

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

type ArgumentsOf<Name extends keyof LoginFailureStore> = Parameters<LoginFailureStore[Name]>

/** Runs in the writer worker. */
export const loginFailureWrites = (database: Database) => ({
  countLoginFailures: (...[failures, now]: ArgumentsOf<'count'>): number[] =>
    database.transaction(() => {
      const counts = failures.map(({ name, expiresAt }) => Number(database.get(COUNT, name, now, expiresAt)?.count))
      database.run(PURGE, now, 2 * failures.length)
      return counts
    }),
  settleLoginFailures: (...[{ forget, countDown, remember }, now]: ArgumentsOf<'settle'>): void =>
    database.transaction(() => {
      for (const name of forget) database.run('DELETE FROM login_failure WHERE name = $1', name)
      for (const { name, countedAt, countedAs, lastAt } of countDown) {
        database.run(COUNT_DOWN, countedAt, countedAs, lastAt, name)
      }
      for (const { name, expiresAt } of remember) database.run(REMEMBER, name, now, expiresAt)
    }),
})
