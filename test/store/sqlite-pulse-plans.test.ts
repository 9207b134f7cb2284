import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { type Database, openDatabase } from '#src/store/sqlite/database.ts'
import { boundNouns } from '#src/store/sqlite/nouns.ts'
import type { DeliveryStore } from '#src/store/store.ts'
import { createStoreWith } from '../support/create-store.ts'
import { customer } from '../support/store-rows.ts'
import { tempFolder } from '../support/temp-folder.ts'

const LAST = 100_000
const bounds = { from: (LAST - 5000) * 1000, look: 2000, newest: 200 }
/** The first is that of a console that opens, the second that of every second. */
const PULSES = [undefined, LAST - 1500]

/** One delivery a second. */
const FILL = `
  INSERT INTO delivery (position, receipt, customer, status, received_at, payload)
  SELECT n, unhex(printf('%012x%020x', n * 1000, n)), 1, n % 4, n * 1000, zeroblob(300) FROM numbers`

it('SQLite reads a pulse by indexes, whether or not it has statistics', async () => {
  const path = join(tempFolder(), 'pulse.db')
  await createStoreWith(`sqlite:${path}`, [customer()])
  const raw = new DatabaseSync(path)
  raw.exec(
    `CREATE TEMP TABLE numbers AS WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < ${LAST}) SELECT n FROM r`,
  )
  raw.exec(FILL)
  for (const statistics of [false, true]) {
    if (statistics) raw.exec('ANALYZE')
    const database = openDatabase(path, { readOnly: true })
    const steps = new Set<string>()
    const ask: Database['ask'] = (sql, values) => {
      for (const { detail } of database.ask(`EXPLAIN QUERY PLAN ${sql}`, values).rows) steps.add(String(detail))
      return database.ask(sql, values)
    }
    const { pulse } = boundNouns({ ...database, ask }).deliveries as DeliveryStore
    for (const after of PULSES) expect((await pulse(after, bounds)).newest).toHaveLength(bounds.newest)
    database.close()
    expect([...steps].sort().filter((step) => / (?:d|delivery) /.test(step))).toEqual([
      'SEARCH d USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)',
      'SEARCH delivery USING INDEX delivery_receipt (receipt>?)',
      'SEARCH delivery USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)',
    ])
  }
  raw.close()
})
