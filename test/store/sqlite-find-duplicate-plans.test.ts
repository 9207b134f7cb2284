import { expect, it } from 'vitest'
import type { Database } from '#src/store/sqlite/database.ts'
import { findCustomer, judge } from '#src/store/sqlite/deliveries/judge.ts'
import { plansOf } from '../support/sqlite-plans.ts'
import { customer, delivery } from '../support/store-rows.ts'

const one = customer()
const customers = [one, ...Array.from({ length: 50 }, () => customer())]
const retry = delivery(one.id, { orderId: 'order-500', idempotency: { key: 'key-700', notBefore: 0 } })
const another = delivery(one.id, { orderId: 'order-500', idempotency: { key: 'new', notBefore: 0 } })

const FILL = `
  INSERT INTO delivery (position, receipt, customer, order_id, status, received_at, payload)
  SELECT n, unhex(printf('%032x', n)), 1, 'order-' || n, 1, n, zeroblob(300) FROM numbers;
  INSERT INTO order_state (customer, order_id, status, state_position, latest_position, digest)
  SELECT 1, 'order-' || n, 1, n, n, x'00' FROM numbers;
  INSERT INTO idempotency (customer, key, position, kept_at) SELECT 1, 'key-' || n, n, n FROM numbers`

it('SQLite finds a duplicate by indexes, whether or not it has statistics', async () => {
  const find = (database: Database) => {
    expect(judge(database, findCustomer(database, one.id), retry)).toBe('key-reused')
    expect(judge(database, findCustomer(database, one.id), another)).toMatchObject({ state: { state_position: 500 } })
  }
  for await (const { steps } of plansOf({ customers, fill: FILL, last: 20_000 }, find))
    expect(steps).toEqual([
      'SEARCH customer USING INDEX sqlite_autoindex_customer_1 (id=?)',
      'SEARCH idempotency USING INDEX sqlite_autoindex_idempotency_1 (customer=? AND key=?)',
      'SEARCH delivery USING INTEGER PRIMARY KEY (rowid=?)',
      'SEARCH order_state USING PRIMARY KEY (customer=? AND order_id=?)',
    ])
})
