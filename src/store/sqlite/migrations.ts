import { DatabaseSync } from 'node:sqlite'
import { AppError } from '#src/lib/app-error.ts'
import { programFile } from '#src/lib/program-files.ts'
import {
  ADD_MIGRATION,
  APPLIED,
  type Applied,
  addedMigration,
  MIGRATION_TABLE,
  type Migration,
  migrationName,
  pendingMigrations,
  readMigrations,
} from '../migrate.ts'
import { storeErrors } from '../store.errors.ts'
import type { Database, Row } from './database.ts'

export const knownMigrations = (): Migration[] => readMigrations(programFile('store/sqlite/migrations/'))

export function migrate(database: Database, migrations: readonly Migration[], now: number): string[] {
  // Checked without the write lock first, so that a start with nothing to apply waits for no writer.
  if (pendingMigrations(migrations, appliedTo(database)).length === 0) return []
  return database.transaction(() => {
    const pending = pendingMigrations(migrations, appliedTo(database))
    database.script(MIGRATION_TABLE)
    for (const migration of pending) {
      database.script(migration.sql)
      database.run(ADD_MIGRATION, ...addedMigration(migration, now))
    }
    return pending.map(migrationName)
  })
}

export function appliedTo(database: Database): Applied[] {
  const table = database.get(`SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'schema_migration'`)
  if (table === undefined) {
    refuseForeign(database)
    return []
  }
  return database.all(APPLIED) as unknown as Applied[]
}

/** A file without our table of migrations but with other tables belongs to another application. */
function refuseForeign(database: Database): void {
  // Litestream adds tables of its own to a file that it replicates, even to an empty one.
  const names = database
    .all(`SELECT name FROM sqlite_schema WHERE type = 'table' AND substr(name, 1, 12) <> '_litestream_' LIMIT 3`)
    .map(({ name }) => name)
  if (names.length === 0) return
  throw new AppError(storeErrors.foreign, {
    message: `${database.path} belongs to another application: it has the tables ${names.join(', ')}. Name another file.`,
  })
}

const SCHEMA = 'SELECT type, name, sql FROM sqlite_schema'

/** What a foreign object may be: it does nothing by itself. SQLite reads `sql` alone, and writes these words so; Litestream adds such tables. */
const HARMLESS = /^CREATE (?:TABLE|(?:UNIQUE )?INDEX) /

/**
 * Names what is not as our migrations make it: a trigger, view or virtual table runs by itself, and could undo what operators do. A
 * page of a file cannot be damaged like this by accident, but somebody may have changed it.
 */
export function findForeignCode(
  database: Database,
  known: readonly Migration[],
  applied: readonly Applied[],
): string | undefined {
  // What a newer version has made cannot be judged.
  if (applied.length > known.length) return undefined
  const own = new DatabaseSync(':memory:')
  try {
    for (const { sql } of known.slice(0, applied.length)) own.exec(sql)
    const ours = new Map((own.prepare(SCHEMA).all() as Row[]).map((row) => [row.name, row]))
    for (const { type, name, sql } of database.all(SCHEMA)) {
      const made = ours.get(name)
      ours.delete(name)
      if (made !== undefined && made.type === type && made.sql === sql) continue
      if (made !== undefined) return `its ${type} ${JSON.stringify(name)} is not the one that teslim makes`
      if (sql !== null && !HARMLESS.test(sql as string))
        return `it has the ${type} ${JSON.stringify(name)}, which teslim does not make`
    }
    const [missing] = ours.values()
    return missing && `it lacks the ${missing.type} ${JSON.stringify(missing.name)}`
  } finally {
    own.close()
  }
}
