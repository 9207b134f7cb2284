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

/** What a foreign object may be, as long as it does not touch ours. SQLite reads `sql` alone, and writes these words so. */
const HARMLESS = /^CREATE (?:TABLE|(?:UNIQUE )?INDEX) /

/** By what SQLite makes of `sql`: the other columns may say anything. An index of origin `c` is not a part of its table. */
const TOUCHING = `
  SELECT 'index' AS type, i.name, lower(t.name) AS touched FROM pragma_table_list t, pragma_index_list(t.name) i WHERE i.origin = 'c'
   UNION ALL
  SELECT 'table', t.name, lower(f."table") FROM pragma_table_list t, pragma_foreign_key_list(t.name) f`

/**
 * Names what is not as our migrations make it. A trigger, view or virtual table runs by itself; so does an index, whose expressions and
 * uniqueness refuse rows, and a key that refers to our rows keeps them from going. Each could undo what operators do, or silence the audit
 * log. A page of a file cannot be damaged like this by accident, but somebody may have changed it. Litestream adds tables of its own.
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
    const missing = new Map(ours)
    for (const { type, name, sql } of database.all(SCHEMA)) {
      const made = ours.get(name)
      missing.delete(name)
      if (made !== undefined && made.type === type && made.sql === sql) continue
      if (made !== undefined) return `its ${type} ${JSON.stringify(name)} is not the one that teslim makes`
      if (sql !== null && !HARMLESS.test(sql as string))
        return `it has the ${type} ${JSON.stringify(name)}, which teslim does not make`
    }
    for (const { type, name, touched } of database.all(TOUCHING))
      if (!ours.has(name) && ours.get(touched)?.type === 'table')
        return `it has the ${type} ${JSON.stringify(name)} on its table ${JSON.stringify(touched)}, which teslim does not make`
    const [lacking] = missing.values()
    return lacking && `it lacks the ${lacking.type} ${JSON.stringify(lacking.name)}`
  } finally {
    own.close()
  }
}

/** Throws STORE_FOREIGN for what `findForeignCode` finds: it would run with what comes in. */
export function refuseForeignCode(database: Database, known: readonly Migration[]): void {
  const found = findForeignCode(database, known, appliedTo(database))
  if (found === undefined) return
  throw new AppError(storeErrors.foreign, {
    message: `${database.path} was changed by somebody else: ${found}. Remove what does not belong there (DROP), or restore a backup.`,
  })
}
