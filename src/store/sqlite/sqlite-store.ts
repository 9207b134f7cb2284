import {
  EMPTY,
  type Migration,
  migrationName,
  pendingMigrations,
  readMigrations,
  type SchemaState,
} from '../migrate.ts'
import type { OpenedStore, QueueLimits } from '../open-store.ts'
import { type Database, openDatabase } from './database.ts'
import { sqliteApiKeys } from './sqlite-api-keys.ts'
import { sqliteCustomers } from './sqlite-customers.ts'
import { sqliteDeliveries } from './sqlite-deliveries.ts'
import { sqliteLoginFailures } from './sqlite-login-failures.ts'
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
      loginFailures: sqliteLoginFailures(database, writer),
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
  if (pendingMigrations(migrations, schemaState(database)).length === 0) return []
  return database.transaction(() => {
    const pending = pendingMigrations(migrations, schemaState(database))
    database.script(
      'CREATE TABLE IF NOT EXISTS schema_migration (number INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL, oldest INTEGER NOT NULL) STRICT',
    )
    for (const { number, name, sql, oldest } of pending) {
      database.script(sql)
      database.run('INSERT INTO schema_migration VALUES ($1, $2, $3, $4)', number, name, now, oldest)
    }
    return pending.map(migrationName)
  })
}

function schemaState(database: Database): SchemaState {
  const table = database.get(`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'schema_migration'`)
  if (table === undefined) return EMPTY
  const state = database.get('SELECT max(number) AS applied, max(oldest) AS oldest FROM schema_migration')
  return { applied: Number(state?.applied), oldest: Number(state?.oldest) }
}
