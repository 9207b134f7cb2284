import { expect, it } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'
import type { PurgePage, Store } from '#src/store/store.ts'
import { AS_BEHIND_A_POOLER, startExplainingPostgres } from '../support/postgres/postgres-plans.ts'
import { newDatabase, runSql } from '../support/postgres/postgres-server.ts'
import { createStoreWith } from '../support/store/create-store.ts'
import { customer } from '../support/store/store-rows.ts'
import { FAILED, rowAt, saveProgress } from '../support/webhooks/unsent.ts'

const LAST = 30_000
const ENDPOINTS = 100
const BLOCKS = Math.ceil(LAST / 4096)

/** Deliveries of two customers wait for one endpoint after the other. Each save has a row in the journal, and half of the endpoints are behind. */
const numbers = (from: number, last: number) => `generate_series(${from}::bigint, ${last}) n`
const bytes = `decode(repeat('00', 6), 'hex')`
const deliveries = (from: number, last: number): string => `
  INSERT INTO delivery (position, receipt, customer, order_id, status, received_at, payload)
  SELECT n, lpad(to_hex(n), 32, '0')::uuid, 1 + n / 2 % 2, 'order-' || (n / 2), n % 4, n, ${bytes} FROM ${numbers(from, last)};
  INSERT INTO order_state (customer, order_id, status, state_position, latest_position, digest)
  SELECT 1 + n / 2 % 2, 'order-' || (n / 2), n % 4, n, n, ${bytes} FROM ${numbers(from, last)} WHERE n % 2 = 1;
  INSERT INTO idempotency (customer, key, position, kept_at) SELECT 1 + n % 2, 'key-' || n, n, n FROM ${numbers(from, last)};
  INSERT INTO webhook_waiting (webhook, position, lane, failures, answered, replayed)
  SELECT 'w-' || (1 + n % ${ENDPOINTS}), n, n, 0, true, false FROM ${numbers(from, last)};
  INSERT INTO webhook_confirmed (webhook, block, at, entries)
  SELECT 'w-' || (1 + n % ${ENDPOINTS}), n / ${ENDPOINTS} % ${BLOCKS}, n, ${bytes} FROM ${numbers(from, last)};
  INSERT INTO webhook_attempt (webhook, at, position, customer, milliseconds) SELECT 'w-' || (1 + n % ${ENDPOINTS}), n, n, 1 + n % 2, 1 FROM ${numbers(from, last)};
  UPDATE roll_up SET position = ${last}`
const endpoints = numbers(1, ENDPOINTS)
const ENDPOINT_ROWS = `
  INSERT INTO webhook (id, url, duplicates, created_at, secret, version) SELECT 'w-' || n, 'u', true, n, 's', 1 FROM ${endpoints};
  INSERT INTO webhook_progress (webhook, position, waiting, failing, set_aside, removed, journal_bytes)
  SELECT 'w-' || n, CASE WHEN n % 2 = 0 THEN ${LAST} ELSE ${LAST / 2} END, ${LAST / ENDPOINTS}, 0, 0, 0, 0 FROM ${endpoints};
  INSERT INTO purge_held (webhook, deliveries, last) SELECT 'w-' || n, 1, ${LAST} FROM ${endpoints}`

const FEW = 20

type During = <Result>(name: string, work: () => Promise<Result>) => Promise<Result>

/** Purges from some places on, saves what an endpoint has taken, and erases a customer. */
async function purgeAndErase(
  { purges, webhooks, ...store }: Store,
  last: number,
  during: During,
): Promise<PurgePage[]> {
  const scope = { before: last, now: last, until: last - FEW / 2, scan: 500 }
  const pages = [0, last / 2 - 250, last - 2000].flatMap((after) =>
    [false, true].flatMap((orders) =>
      [false, true].map((unsent) => ({ ...scope, after: Math.max(0, after), orders, unsent, dryRun: false })),
    ),
  )
  for (const page of pages) {
    await during('page', () => purges.page({ ...page, dryRun: true }))
    await during('page', () => purges.page(page))
  }
  await during('held', () => purges.held())
  const taken = Array.from({ length: FEW / 2 }, (_, n) => last - 1 - n)
  const rows = taken.map((position) => ({ position, lane: position }))
  const progress = { position: last, settled: rows.slice(5), kept: taken.map((n) => rowAt(n - 5, n - 5, FAILED)) }
  await during('save', () => saveProgress({ ...store, purges, webhooks }, 'w-2', progress))
  await during('remove', () => webhooks.remove('w-3'))
  await during('tidy', () => webhooks.tidy(last + 8 * 86_400_000))
  const [one] = await store.customers.list({ limit: 1 })
  const id = one?.id as string
  await during('erase', () => purges.eraseNames(id))
  await during('erase', () => purges.erase(id, last / 2, 500))
  await during('erase', () => purges.eraseSome({ customerId: id, positions: taken, sameAs: null }))
  return pages
}

/** The rows of a page, those that wait among them, and the journal of two blocks: some 100 rows each of 100 endpoints. */
const SOME = 10_000

const explaining = await startExplainingPostgres()

it.each([
  ['without statistics', []],
  ['with statistics', ['ANALYZE']],
  ['behind a pooler, without statistics', [AS_BEHIND_A_POOLER]],
  ['behind a pooler, with statistics', [AS_BEHIND_A_POOLER, 'ANALYZE']],
  ['by plans that were made while the store was nearly empty', undefined],
])('purges and erasures find rows by indexes, %s', async (_, preparations) => {
  const url = await newDatabase(explaining.server.url)
  await createStoreWith(url, [customer(), customer()])
  await runSql(url, ENDPOINT_ROWS)
  await runSql(url, deliveries(1, preparations === undefined ? FEW : LAST))
  for (const sql of preparations ?? ['VACUUM ANALYZE']) await runSql(url, sql)
  const watch = await explaining.watch(url)
  const { store } = await openStore(loadConfig({ DATABASE_URL: url }).config, 0)
  if (preparations === undefined) {
    await purgeAndErase(store, FEW, (_, work) => work())
    await runSql(url, deliveries(FEW + 1, LAST))
  }
  const pages = await purgeAndErase(store, LAST, watch.during)
  await store.close()
  const executed = await watch.executed()
  const asked = executed.filter(([name, { sql }]) => name === 'page' && sql.includes('has_function_privilege'))
  // The right is asked for before anything is announced, and not with each page.
  expect(asked).toHaveLength(pages.filter(({ after }) => after === 0).length)
  // Deliveries wait from `purge_1` on: what an endpoint has taken is read before.
  const next = executed.filter((_, index) => executed[index - 1]?.[1].sql.includes('FROM purge_1('))
  expect(next.filter(([, { sql }]) => /FROM webhook_(?:progress|confirmed)/.test(sql))).toEqual([])
  // To tidy looks at the whole journal, once.
  const wasteful = executed.filter(([name, { rows }]) => rows > (name === 'tidy' ? LAST : SOME))
  expect(wasteful.map(([name, { sql, rows, plan }]) => `${name}: ${rows} rows\n${sql}\n${plan}`)).toEqual([])
})
