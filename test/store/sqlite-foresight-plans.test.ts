import { expect, it } from 'vitest'
import type { Database } from '#src/store/sqlite/database.ts'
import { foresee as foreseeInSqlite } from '#src/store/sqlite/deliveries/foresight.ts'
import { plansOf } from '../support/sqlite-plans.ts'
import { customer, delivery } from '../support/store-rows.ts'

const one = customer()
const customers = [one, ...Array.from({ length: 50 }, () => customer())]
const wanted = delivery(one.id, { orderId: 'order-500', idempotency: { key: 'key-700', notBefore: 0 } })

const FILL = `
  INSERT INTO delivery (position, receipt, customer, order_id, status, received_at, payload)
  SELECT n, unhex(printf('%032x', n)), 1, 'order-' || n, 1, n, zeroblob(300) FROM numbers;
  INSERT INTO order_state (customer, order_id, status, state_position, latest_position, digest)
  SELECT 1, 'order-' || n, 1, n, n, x'00' FROM numbers;
  INSERT INTO idempotency (customer, key, position, kept_at) SELECT 1, 'key-' || n, n, n FROM numbers`

it('SQLite foresees a delivery by indexes, whether or not it has statistics', async () => {
  const foresee = (database: Database) => expect(() => foreseeInSqlite(database, wanted)).toThrow('another body')
  for await (const { steps } of plansOf({ customers, fill: FILL, last: 20_000 }, foresee)) {
    expect(steps.filter((step) => step.startsWith('SEARCH')).length).toBeGreaterThan(5)
    expect(steps.filter((step) => /^SCAN (?!r\b|CONSTANT)/.test(step))).toEqual([])
  }
})
