import { afterAll, expect, it } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'
import type { PurgePage } from '#src/store/store.ts'
import { startExplainingPostgres } from '../support/postgres/postgres-plans.ts'
import { newDatabase, runSql } from '../support/postgres/postgres-server.ts'
import { createStoreWith } from '../support/store/create-store.ts'
import { customer } from '../support/store/store-rows.ts'

const LAST = 60_000
const ENDPOINTS = 100
const BLOCKS = Math.ceil(LAST / 4096)

/** A delivery waits for each endpoint in turn, and each save has a row in the journal. Half of the endpoints are behind. */
const numbers = `generate_series(1::bigint, ${LAST}) n`
const bytes = `decode(repeat('00', 6), 'hex')`
const FILL = `
  INSERT INTO delivery (position, receipt, customer, order_id, status, received_at, payload)
  SELECT n, lpad(to_hex(n), 32, '0')::uuid, 1, 'order-' || (n / 2), n % 4, n, ${bytes} FROM ${numbers};
  INSERT INTO order_state (customer, order_id, status, state_position, latest_position, digest)
  SELECT 1, 'order-' || (n / 2), n % 4, n, n, ${bytes} FROM ${numbers} WHERE n % 2 = 1;
  INSERT INTO webhook (id, url, duplicates, created_at, secret, version)
  SELECT 'w-' || n, 'u', true, n, 's', 1 FROM ${numbers} WHERE n <= ${ENDPOINTS};
  INSERT INTO webhook_progress (webhook, position, waiting, failing, set_aside, removed, journal_bytes)
  SELECT 'w-' || n, CASE WHEN n % 2 = 0 THEN ${LAST} ELSE ${LAST / 2} END, ${LAST / ENDPOINTS}, 0, 0, 0, 0
    FROM ${numbers} WHERE n <= ${ENDPOINTS};
  INSERT INTO webhook_waiting (webhook, position, lane, failures, answered, replayed)
  SELECT 'w-' || (1 + n % ${ENDPOINTS}), n, n, 0, true, false FROM ${numbers};
  INSERT INTO webhook_confirmed (webhook, block, at, entries)
  SELECT 'w-' || (1 + n % ${ENDPOINTS}), n / ${ENDPOINTS} % ${BLOCKS}, n, ${bytes} FROM ${numbers};
  INSERT INTO purge_held (webhook, deliveries, last) SELECT 'w-' || n, 1, ${LAST} FROM ${numbers} WHERE n <= ${ENDPOINTS};
  UPDATE roll_up SET position = ${LAST}`

const pages = [0, LAST / 2 - 250, LAST - 2000].flatMap((after) =>
  [false, true].flatMap((orders) =>
    [false, true].map((unsent): PurgePage => {
      const scope = { before: LAST - 100, orders, unsent, now: LAST, until: LAST - 100 }
      return { ...scope, after, scan: 500, dryRun: false }
    }),
  ),
)

/** The rows of a page, those that wait among them, and the journal of two blocks: some 100 rows each of 100 endpoints. */
const SOME = 10_000

const explaining = await startExplainingPostgres()
afterAll(() => explaining.server.remove())

it.each(['without', 'with'])('finds and counts what is unsent by indexes, %s statistics', async (statistics) => {
  const url = await newDatabase(explaining.server.url)
  await createStoreWith(url, [customer()])
  await runSql(url, FILL)
  if (statistics === 'with') await runSql(url, 'ANALYZE')
  const watch = await explaining.watch(url)
  const { store } = await openStore(loadConfig({ DATABASE_URL: url }).config, 0)
  for (const page of pages) {
    await watch.during('page', () => store.purges.page({ ...page, dryRun: true }))
    const { webhooks } = await watch.during('page', () => store.purges.page(page))
    expect(webhooks.length).toBeGreaterThan(0)
  }
  await watch.during('held', () => store.purges.held())
  await store.close()
  const executed = await watch.executed()
  const asked = executed.filter(([, { sql }]) => sql.includes('has_function_privilege'))
  // The right is asked for before anything is announced, and not with each page.
  expect(asked).toHaveLength(pages.filter(({ after }) => after === 0).length)
  const wasteful = executed.filter(([, { rows }]) => rows > SOME)
  expect(wasteful.map(([name, { sql, rows, plan }]) => `${name}: ${rows} rows\n${sql}\n${plan}`)).toEqual([])
})
