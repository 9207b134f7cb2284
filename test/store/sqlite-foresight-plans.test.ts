import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { openDatabase } from '#src/store/sqlite/database.ts'
import { findCustomer, judge } from '#src/store/sqlite/deliveries/judge.ts'
import { createStoreWith } from '../support/create-store.ts'
import { customer, delivery } from '../support/store-rows.ts'
import { tempFolder } from '../support/temp-folder.ts'

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

it('SQLite foresees a delivery by indexes, whether or not it has statistics', async () => {
  const path = join(tempFolder(), 'plans.db')
  await createStoreWith(`sqlite:${path}`, customers)
  const raw = new DatabaseSync(path)
  raw.exec(
    'CREATE TEMP TABLE numbers AS WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 20000) SELECT n FROM r',
  )
  raw.exec(FILL)
  for (const statistics of [false, true]) {
    if (statistics) raw.exec('ANALYZE')
    const database = openDatabase(path, { readOnly: true })
    const steps: string[] = []
    const get: typeof database.get = (sql, ...values) => {
      steps.push(...database.all(`EXPLAIN QUERY PLAN ${sql}`, ...values).map(({ detail }) => String(detail)))
      return database.get(sql, ...values)
    }
    const explained = { ...database, get }
    expect(judge(explained, findCustomer(explained, one.id), retry)).toBe('key-reused')
    expect(judge(explained, findCustomer(explained, one.id), another)).toMatchObject({ state: { state_position: 500 } })
    database.close()
    expect(steps.filter((step) => step.startsWith('SEARCH')).length).toBeGreaterThan(5)
    expect(steps.filter((step) => /^SCAN/.test(step))).toEqual([])
  }
  raw.close()
})
