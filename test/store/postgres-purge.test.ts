import { expect, it } from 'vitest'
import type { PurgePage } from '#src/store/store.ts'
import { runSql } from '../support/postgres/postgres-server.ts'
import { newPostgresStore, session } from '../support/postgres/postgres-session.ts'
import { customer, delivery } from '../support/store/store-rows.ts'
import { openTestStore } from '../support/store/test-store.ts'

/** A store with three old deliveries without orders and a young one, of which none is counted. */
async function prepare() {
  const url = await newPostgresStore()
  const store = await openTestStore(url)
  const one = customer()
  await store.customers.insert(one)
  for (let n = 0; n < 4; n++) await store.deliveries.deliver(delivery(one.id, { orderId: null, receivedAt: n }))
  const left = async () => (await runSql(url, 'SELECT FROM delivery')).length
  const page: PurgePage = {
    after: 0,
    until: 3,
    before: 3,
    orders: false,
    unsent: false,
    now: 0,
    scan: 10,
    dryRun: false,
  }
  return { url, store, page, left }
}

it('while another session counts, a purge removes nothing and looks at the same deliveries again', async () => {
  const { url, store, page, left } = await prepare()
  const other = await session(url)
  await other.query('BEGIN; UPDATE roll_up SET position = 3')
  expect(await store.purges.page(page)).toEqual({
    deliveries: 0,
    orders: 0,
    payloadBytes: 0,
    webhooks: [],
    position: 0,
  })
  expect(await left()).toBe(4)
  await other.query('COMMIT')
  expect(await store.purges.page(page)).toMatchObject({ deliveries: 3, position: 3 })
  expect(await left()).toBe(1)
})

it('the function that removes leaves what the hourly counts do not contain', async () => {
  const { url, store, page, left } = await prepare()
  const REMOVE = `SELECT deliveries::integer FROM purge_1(ARRAY(SELECT receipt FROM delivery), '{}', 0)`
  expect(await runSql(url, REMOVE)).toEqual([{ deliveries: 0 }])
  expect(await left()).toBe(4)
  expect((await store.purges.page({ ...page, dryRun: true })).deliveries).toBe(3)
  await store.rollUps.count(2)
  expect(await runSql(url, REMOVE)).toEqual([{ deliveries: 2 }])
  expect(await store.purges.state()).toMatchObject({ position: 2 })
})
