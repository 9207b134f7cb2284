import { type Migration, pendingMigrations, readMigrations } from '../migrate.ts'
import type { OpenedStore } from '../open-store.ts'
import { type Database, openDatabase } from './database.ts'
import { sqliteCustomers } from './sqlite-customers.ts'
import { sqliteSigningKeys } from './sqlite-signing-keys.ts'

const MIGRATIONS = new URL('./migrations/', import.meta.url)

export async function openSqliteStore(path: string, now: number): Promise<OpenedStore> {
  const database = openDatabase(path)
  try {
    const migrated = migrate(database, readMigrations(MIGRATIONS), now)
    return {
      migrated,
      store: {
        customers: sqliteCustomers(database),
        signingKeys: sqliteSigningKeys(database),
        ping: async () => void database.get('SELECT max(number) AS number FROM schema_migration'),
        close: async () => database.close(),
      },
    }
  } catch (error) {
    database.close()
    throw error
  }
}

function migrate(database: Database, migrations: readonly Migration[], now: number): string[] {
  // Looked at without the write lock first, so that a start with nothing to apply waits for no writer.
  if (pendingMigrations(migrations, appliedMigration(database)).length === 0) return []
  return database.transaction(() => {
    const pending = pendingMigrations(migrations, appliedMigration(database))
    database.script(
      'CREATE TABLE IF NOT EXISTS schema_migration (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL) STRICT',
    )
    for (const { number, name, sql } of pending) {
      database.script(sql)
      database.run('INSERT INTO schema_migration (number, name, applied_at) VALUES ($1, $2, $3)', number, name, now)
    }
    return pending.map(({ number, name }) => `${String(number).padStart(4, '0')}-${name}`)
  })
}

function appliedMigration(database: Database): number {
  const table = database.get(`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'schema_migration'`)
  if (table === undefined) return 0
  return Number(database.get('SELECT coalesce(max(number), 0) AS number FROM schema_migration')?.number)
}
