import {
  EMPTY,
  type Migration,
  migrationName,
  pendingMigrations,
  readMigrations,
  type SchemaState,
} from '../migrate.ts'
import type { InspectedStore, OpenedStore, QueueLimits } from '../open-store.ts'
import type { Store } from '../store.ts'
import { type Database, openDatabase, opening } from './database.ts'
import { createReader, type Reader } from './reader.ts'
import { sqliteApiKeys } from './sqlite-api-keys.ts'
import { sqliteAudit } from './sqlite-audit.ts'
import { sqliteCustomers } from './sqlite-customers.ts'
import { sqliteDeliveries } from './sqlite-deliveries.ts'
import { sqliteLoginFailures } from './sqlite-login-failures.ts'
import { sqliteSecrets } from './sqlite-secrets.ts'
import { sqliteSigningKeys } from './sqlite-signing-keys.ts'
import { createStoreFile } from './store-file.ts'
import { createWriter, type SpawnWorker, type Writer } from './writer.ts'

const MIGRATIONS = new URL('./migrations/', import.meta.url)

export interface SqliteOptions {
  readonly path: string
  readonly now: number
  readonly limits: QueueLimits
  /** These are for tests that kill the workers. */
  readonly spawn?: SpawnWorker
  readonly spawnReader?: SpawnWorker
}

export async function openSqliteStore({ path, now, limits, spawn, spawnReader }: SqliteOptions): Promise<OpenedStore> {
  opening(path, () => createStoreFile(path))
  const database = openDatabase(path)
  try {
    const migrated = migrate(database, readMigrations(MIGRATIONS), now)
    const workers = { writer: createWriter(path, spawn), reader: createReader(path, spawnReader) }
    return { store: storeOn(database, workers, limits), migrated }
  } catch (error) {
    database.close()
    throw error
  }
}

export async function inspectSqliteStore({ path, limits }: Omit<SqliteOptions, 'now'>): Promise<InspectedStore> {
  const database = openDatabase(path, { readOnly: true })
  try {
    const pending = pendingMigrations(readMigrations(MIGRATIONS), schemaState(database)).map(migrationName)
    return {
      store: storeOn(database, { writer: createWriter(path), reader: createReader(path) }, limits),
      pending,
      findDamage: async () => {
        const found = database.all('PRAGMA quick_check(1)').map((row) => String(Object.values(row)[0]))
        return found.find((line) => line !== 'ok')
      },
    }
  } catch (error) {
    database.close()
    throw error
  }
}

interface Workers {
  readonly writer: Writer
  readonly reader: Reader
}

/** Point look-ups on the calling thread; whatever walks through many rows in one worker, writes in another. */
function storeOn(database: Database, { writer, reader }: Workers, limits: QueueLimits): Store {
  const deliveries = sqliteDeliveries(database, writer, reader, limits)
  return {
    customers: sqliteCustomers(database, writer),
    apiKeys: sqliteApiKeys(database, writer),
    deliveries,
    signingKeys: sqliteSigningKeys(database, writer),
    secrets: sqliteSecrets(database, writer),
    audit: sqliteAudit(database, writer),
    loginFailures: sqliteLoginFailures(database, writer),
    accountVersion: async () => Number(database.get('SELECT number FROM account_version')?.number),
    ping: async () => void database.get('SELECT number FROM account_version'),
    close: async () => {
      await deliveries.drained()
      await reader.close()
      await writer.close()
      database.close()
    },
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
