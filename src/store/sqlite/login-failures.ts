import type { LoginFailureStore } from '../store.ts'
import type { Database } from './database.ts'
import type { Writer } from './thread/writer.ts'

const FIND = 'SELECT count, last_at FROM login_failure WHERE name = $1 AND expires_at > $2'

export function sqliteLoginFailures(database: Database, writer: Writer): LoginFailureStore {
  return {
    find: async (names, now) =>
      names.map((name) => {
        const row = database.get(FIND, name, now)
        return row && { count: row.count as number, lastAt: row.last_at as number }
      }),
    count: (failures, now) => writer.run('countLoginFailures', [failures, now]),
    settle: (change, now) => writer.run('settleLoginFailures', [change, now]),
  }
}
