import { DatabaseSync } from 'node:sqlite'
import type { Applied, Migration } from '../migrate.ts'
import type { Database, Row } from './database.ts'

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
