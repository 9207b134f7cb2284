import { expect, it } from 'vitest'
import type { Database } from '#src/store/sqlite/database.ts'
import { pulseReads as sqlitePulses } from '#src/store/sqlite/deliveries/pulse.ts'
import { bindOperations } from '#src/store/sqlite/thread/operations.ts'
import { plansOf } from '../support/sqlite-plans.ts'
import { customer } from '../support/store-rows.ts'

const LAST = 100_000
const bounds = { from: (LAST - 5000) * 1000, look: 2000, newest: 200 }
/** The first is that of a console that opens, the second that of every second. */
const PULSES = [undefined, LAST - 1500]

/** One delivery a second. */
const FILL = `
  INSERT INTO delivery (position, receipt, customer, status, received_at, payload)
  SELECT n, unhex(printf('%012x%020x', n * 1000, n)), 1, n % 4, n * 1000, zeroblob(300) FROM numbers`

it('SQLite reads a pulse by indexes, whether or not it has statistics', async () => {
  const read = (database: Database) => {
    const { pulse } = bindOperations(sqlitePulses, database)
    for (const after of PULSES) expect(pulse(after, bounds).newest).toHaveLength(bounds.newest)
  }
  for await (const { steps } of plansOf({ customers: [customer()], fill: FILL, last: LAST }, read))
    expect([...new Set(steps)].sort().filter((step) => / (?:d|delivery) /.test(step))).toEqual([
      'SEARCH d USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)',
      'SEARCH delivery USING INDEX delivery_receipt (receipt>?)',
      'SEARCH delivery USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)',
    ])
})
