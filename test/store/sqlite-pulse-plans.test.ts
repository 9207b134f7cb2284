import { expect, it } from 'vitest'
import type { Database } from '#src/store/sqlite/database.ts'
import { boundNouns } from '#src/store/sqlite/nouns.ts'
import type { DeliveryStore } from '#src/store/store.ts'
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
  const read = async (database: Database) => {
    const { pulse } = boundNouns(database).deliveries as DeliveryStore
    for (const after of PULSES) expect((await pulse(after, bounds)).newest).toHaveLength(bounds.newest)
  }
  for await (const { steps } of plansOf({ customers: [customer()], fill: FILL, last: LAST }, read))
    expect([...new Set(steps)].sort().filter((step) => / (?:d|delivery) /.test(step))).toEqual([
      'SEARCH d USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)',
      'SEARCH delivery USING INDEX delivery_receipt (receipt>?)',
      'SEARCH delivery USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)',
    ])
})
