import { type Migration, migrationName, pendingMigrations, readMigrations } from '../migrate.ts'
import type { OpenedStore, QueueLimits } from '../open-store.ts'
import { type Database, openDatabase } from './database.ts'
import { sqliteApiKeys } from './sqlite-api-keys.ts'
import { sqliteCustomers } from './sqlite-customers.ts'
import { sqliteDeliveries } from './sqlite-deliveries.ts'
import { sqliteSigningKeys } from './sqlite-signing-keys.ts'
import { createWriter, type SpawnWorker } from './writer.ts'

const MIGRATIONS = new URL('./migrations/', import.meta.url)

export interface SqliteOptions {
  readonly path: string
  readonly now: number
  readonly limits: QueueLimits
  /** For tests that kill the writer. */
  readonly spawn?: SpawnWorker
}

/** Reads on the calling thread, point look-ups all of them; writes in a worker. */
export async function openSqliteStore({ path, now, limits, spawn }: SqliteOptions): Promise<OpenedStore> {
  const database = openDatabase(path)
  try {
    const migrated = migrate(database, readMigrations(MIGRATIONS), now)
    const writer = createWriter(path, spawn)
    const deliveries = sqliteDeliveries(database, writer, limits)
    const store = {
      customers: sqliteCustomers(database, writer),
      apiKeys: sqliteApiKeys(database, writer),
      deliveries,
      signingKeys: sqliteSigningKeys(database, writer),
      accountVersion: async () => Number(database.get('SELECT number FROM account_version')?.number),
      ping: async () => void database.get('SELECT number FROM account_version'),
      close: async () => {
        await deliveries.drained()
        await writer.close()
        database.close()
      },
    }
    return { store, migrated }
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
    return pending.map(migrationName)
  })
}

function appliedMigration(database: Database): number {
  const table = database.get(`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'schema_migration'`)
  if (table === undefined) return 0
  return Number(database.get('SELECT coalesce(max(number), 0) AS number FROM schema_migration')?.number)
}
