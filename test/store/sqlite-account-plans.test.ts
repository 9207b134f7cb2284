import { expect, it } from 'vitest'
import type { Database } from '#src/store/sqlite/database.ts'
import { boundNouns } from '#src/store/sqlite/nouns.ts'
import type { ApiKeyStore, CustomerStore } from '#src/store/store.ts'
import { plansOf } from '../support/sqlite-plans.ts'

/** 20,000 customers, with two API keys each. */
const FILL = `
  INSERT INTO customer (id, email, password_hash, is_api, scope, enabled, token_generation, created_at)
  SELECT printf('c-%05d', n), 'customer-' || n || '@example.com', 'h', 1, 'customer', 1, '', n FROM numbers;
  INSERT INTO customer_region (customer, region) SELECT number, 'TR' FROM customer;
  INSERT INTO authority_rule (customer, rule) SELECT number, 'SKU-*' FROM customer;
  INSERT INTO api_key (id, customer, hash, label, created_at) SELECT id || 'a', number, randomblob(32), 'erp', 1 FROM customer;
  INSERT INTO api_key (id, customer, hash, label, created_at, expires_at)
  SELECT id || 'b', number, randomblob(32), '', 1, 150 FROM customer;
  INSERT INTO api_key_use (key_id, used_at, address) SELECT id, 7, '::1' FROM api_key`

const MIDDLE = 'c-10000'
const LOOK = 500
const PAGE = 101

/** What GET /Operator/customers, GET /Operator/customer/ID and the search for silent suppliers ask for. */
async function readEveryWay(
  customers: Pick<CustomerStore, 'search' | 'findMany' | 'names'>,
  keys: Pick<ApiKeyStore, 'summaries' | 'silentAfter' | 'silentAmong'>,
) {
  const pages = []
  for (const after of ['', MIDDLE]) {
    for (const filter of [
      {},
      { text: 'nobody' },
      { text: 'customer' },
      { scopes: ['operator'] as const },
      { removed: true },
    ])
      pages.push(await customers.search(filter, after, { limit: PAGE, scan: LOOK }))
  }
  const ids = pages[0]?.customers.map(({ id }) => id) ?? []
  expect(ids).toHaveLength(PAGE)
  expect(await customers.findMany(ids)).toHaveLength(PAGE)
  expect(await customers.names(ids)).toHaveLength(PAGE)
  expect(await keys.summaries(ids, { now: 100, soon: 200 })).toHaveLength(PAGE)
  const times = { now: 100, silence: 50 }
  expect(await keys.silentAmong(ids, times)).toHaveLength(PAGE)
  for (const after of ['', MIDDLE]) expect((await keys.silentAfter(after, LOOK, times)).silent).toHaveLength(LOOK)
}

it('SQLite finds customers and their keys by an index, whether or not it has statistics', async () => {
  const read = (database: Database) => {
    const { customers, apiKeys } = boundNouns(database)
    return readEveryWay(customers as never, apiKeys as never)
  }
  for await (const { steps } of plansOf({ fill: FILL, last: 20_000 }, read)) {
    expect(steps.filter((step) => /^SCAN (?!json_each|key$|\(subquery)/.test(step))).toEqual([])
    expect(steps.filter((step) => /AUTOMATIC|TEMP B-TREE(?! FOR GROUP BY)/.test(step))).toEqual([])
    expect(steps.filter((step) => step.startsWith('SEARCH c '))).not.toEqual([])
  }
})
