import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Value } from '#src/store/sql/work.ts'
import { type Database, openDatabase } from '#src/store/sqlite/database.ts'
import type { Customer } from '#src/store/store.ts'
import { createStoreWith } from './create-store.ts'
import { tempFolder } from './temp-folder.ts'

interface Filled {
  readonly customers?: readonly Customer[]
  /** SQL that may use a table `numbers`, from 1 to `last`. */
  readonly fill: string
  readonly last: number
  readonly readOnly?: boolean
}

/** Works on a filled file, first without statistics, then with them. Yields the steps of the plan of each statement. */
export async function* plansOf(
  { customers = [], fill, last, readOnly = true }: Filled,
  work: (database: Database) => unknown,
) {
  const path = join(tempFolder(), 'plans.db')
  await createStoreWith(`sqlite:${path}`, customers)
  const raw = new DatabaseSync(path)
  raw.exec(`CREATE TEMP TABLE numbers AS
    WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < ${last}) SELECT n FROM r`)
  raw.exec(fill)
  for (const statistics of [false, true]) {
    if (statistics) raw.exec('ANALYZE')
    const database = openDatabase(path, { readOnly })
    const plans = new Map<string, Set<string>>()
    const explain = (sql: string, values: readonly Value[]): void => {
      if (/^\s*PRAGMA/.test(sql)) return
      const steps = plans.get(sql) ?? new Set()
      plans.set(sql, steps)
      for (const { detail } of database.ask(`EXPLAIN QUERY PLAN ${sql}`, values).rows) steps.add(String(detail))
    }
    const explained =
      (name: 'all' | 'get') =>
      (sql: string, ...values: never[]) => {
        explain(sql, values)
        return database[name](sql, ...values)
      }
    const ask: Database['ask'] = (sql, values) => {
      explain(sql, values)
      return database.ask(sql, values)
    }
    await work({ ...database, ask, all: explained('all'), get: explained('get') } as Database)
    database.close()
    yield { plans, steps: Array.from(plans.values(), (steps) => [...steps]).flat() }
  }
  raw.close()
}
