import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it } from 'vitest'
import { type Database, openDatabase } from '#src/store/sqlite/database.ts'
import { boundNouns } from '#src/store/sqlite/nouns.ts'
import { createStoreWith } from '../support/create-store.ts'
import { customer } from '../support/store-rows.ts'
import { tempFolder } from '../support/temp-folder.ts'

const COUNT = 20_000
const one = customer()

/** Two deliveries for each order, and of everything else as many. */
const FILL = `
  INSERT INTO delivery (position, receipt, customer, order_id, status, received_at, payload)
  SELECT n, unhex(printf('%032x', n)), 1, 'order-' || (n / 2), n % 4, n, zeroblob(300) FROM numbers;
  INSERT INTO order_state (customer, order_id, status, state_position, latest_position, digest)
  SELECT 1, 'order-' || (n / 2), n % 4, n, n, x'00' FROM numbers WHERE n % 2 = 1;
  INSERT INTO idempotency (customer, key, position, kept_at) SELECT 1, 'key-' || n, n, n FROM numbers;
  INSERT INTO webhook_attempt (webhook, at, position, customer, milliseconds) SELECT 'w', n, n, 1, 1 FROM numbers;
  INSERT INTO delivery_block (block, customer, offsets) SELECT DISTINCT position / 4096, 1, '1' FROM delivery;
  INSERT INTO block_customers (block, customers) SELECT block, x'ff' FROM delivery_block;
  UPDATE roll_up SET position = ${COUNT}`

const WASTE =
  /SCAN (?:d|s|delivery|delivery_block|block_customers|order_state|idempotency|customer|webhook_attempt)$|AUTOMATIC/m

it('SQLite purges and erases by indexes, whether or not it has statistics', async () => {
  const path = join(tempFolder(), 'plans.db')
  await createStoreWith(`sqlite:${path}`, [one])
  const raw = new DatabaseSync(path)
  raw.exec(
    `CREATE TEMP TABLE numbers AS WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < ${COUNT}) SELECT n FROM r`,
  )
  raw.exec(FILL)
  for (const statistics of [false, true]) {
    if (statistics) raw.exec('ANALYZE')
    const database = openDatabase(path)
    const plans = new Map<string, string>()
    const ask: Database['ask'] = (sql, values) => {
      if (!sql.startsWith('PRAGMA')) {
        const plan = database.ask(`EXPLAIN QUERY PLAN ${sql}`, values).rows
        plans.set(sql, plan.map(({ detail }) => String(detail)).join('\n'))
      }
      return database.ask(sql, values)
    }
    const bound = boundNouns({ ...database, ask }).purges as Readonly<Record<string, (...args: unknown[]) => unknown>>
    const unused = new Set(Object.keys(bound))
    const use = (name: string, ...args: unknown[]): unknown => {
      unused.delete(name)
      return bound[name]?.(...args)
    }
    const page = { after: 0, until: COUNT - 1, before: COUNT, orders: true, scan: 500, dryRun: false }
    for (const name of ['state', 'announceErasure', 'wipeLog', 'rewrite']) use(name)
    for (const name of ['receivedAfter', 'receivedBefore', 'endOf', 'announce', 'giveBack']) use(name, COUNT / 2)
    use('finish', COUNT / 2, [{ id: 'w', kept: 1, last: 1, removed: 0 }])
    use('held')
    use('claim', { now: 1, until: 2, due: COUNT })
    use('renew', 2, 3)
    const found = use('removable', page)
    expect(use('remove', found, page)).toMatchObject({ deliveries: 500 })
    const { keys } = use('ofCustomer', one.id, COUNT / 2, 100) as { readonly keys: string }
    expect(JSON.parse(keys)).toHaveLength(100)
    use('erase', keys, true)
    const positions = [COUNT - 3, COUNT - 2]
    expect(use('findErasable', { customerId: one.id, positions, sameAs: COUNT - 2 })).toMatchObject({
      positions: [COUNT - 2],
    })
    use('forgetAttempts', one.id, positions)
    expect(use('eraseNames', one.id)).toBe(true)
    expect(use('wipePages', 10, 100)).toBeGreaterThan(10)
    expect(use('wipeAttempts', 1000)).toBeGreaterThan(1000)
    expect([...unused]).toEqual([])
    database.close()
    // The keys at the beginning of their table are read up to a limit.
    const wasteful = [...plans].filter(([sql, plan]) => WASTE.test(plan) && !sql.includes('ORDER BY number LIMIT'))
    expect(wasteful.map((each) => each.join('\n'))).toEqual([])
    // A page looks up each order once, and its deliveries are sorted already.
    const [plan] = [...plans].filter(([sql]) => sql.includes('rolled_up')).map(([, each]) => each)
    expect(plan?.match(/^SEARCH s |TEMP B-TREE/gm)).toEqual(['SEARCH s '])
  }
  raw.close()
})
