import { expect, inject, it, onTestFinished } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'
import { BLOCK_SIZE } from '#src/store/sql/purges.ts'
import type { DeliverySummary, Store } from '#src/store/store.ts'
import { newDatabase, runSql } from '../support/postgres/postgres-server.ts'
import { newPostgresStore } from '../support/postgres/postgres-session.ts'
import { customer, delivery } from '../support/store/store-rows.ts'
import { deliverAll, type Open } from './conformance/promises.ts'
import { nextTime, purge, receivedAt } from './conformance/purging.ts'
import { describeStore, OF_DELIVERIES } from './store-conformance.ts'

/** Makes the newest row of `history` another timeline's, as a failover would: the next batch goes on after a gap. */
const FAIL_OVER = 'UPDATE history SET timeline = -1 WHERE resumed_after = (SELECT max(resumed_after) FROM history)'
const AFTER_EACH_BATCH = `
  CREATE FUNCTION fail_over() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${FAIL_OVER}; RETURN NULL; END $$;
  CREATE TRIGGER fail_over AFTER INSERT ON delivery EXECUTE FUNCTION fail_over()`

const open = async (url: string): Promise<Store> => {
  const { config } = loadConfig({ DATABASE_URL: url, TESLIM_DATABASE_TIMEOUT: '10' })
  return (await openStore(config, 0)).store
}

const openEmpty = (): Open => {
  const created = newPostgresStore()
  let prepared: Promise<unknown> | undefined
  return async () => {
    const url = await created
    const store = await open(url)
    prepared ??= runSql(url, AFTER_EACH_BATCH)
    await prepared
    return store
  }
}

// Only positions have gaps. A pulse begins again after one, because what it has counted may be lost.
describeStore('postgres with a failover after each batch', openEmpty(), openEmpty, OF_DELIVERIES)

async function ownStore(url?: string) {
  const created = url ?? (await newPostgresStore())
  const store = await open(created)
  onTestFinished(() => store.close())
  const [one, other] = [customer(), customer()]
  for (const each of [one, other]) await store.customers.insert(each)
  return { url: created, store, one, other }
}

it('a place among what was lost is refused, before the next delivery and after it, and no other place is', async () => {
  const { url, store, one } = await ownStore()
  const { deliveries, purges } = store
  const lostAt = async (place: number) => (await purges.state(place)).lost
  await deliverAll(store, [delivery(one.id), delivery(one.id)])
  expect(await store.history()).toEqual({ timeline: 1, lastPosition: 2, resumed: null })
  for (const place of [0, 1, 2]) expect(await lostAt(place)).toBeNull()
  // Of another history, of which nobody knows what it has in common with this one.
  expect(await lostAt(3)).toEqual({ at: null, lastPosition: 0 })
  expect(await deliveries.arrivals(3)).toMatchObject({ position: 0, lost: true })

  await runSql(url, FAIL_OVER)
  // A batch that stores nothing, and the setval of a batch that was lost, move no place.
  await store.tryStatements()
  await runSql(url, `SELECT setval('last_position', 7)`)
  expect(await lostAt(3)).toEqual({ at: null, lastPosition: 2 })
  await deliverAll(store, [delivery(one.id)])
  const next = await deliveries.lastPosition()
  expect(next - 7).toBeGreaterThan(2 ** 32)
  expect(next - 7).toBeLessThanOrEqual(2 ** 33 + 1)
  const { resumed } = await store.history()
  expect(resumed).toMatchObject({ lastPosition: 2, after: next - 1 })
  for (const place of [0, 1, 2, next - 1, next]) expect(await lostAt(place)).toBeNull()
  for (const place of [3, 7, 2 ** 32, next - 2])
    expect(await lostAt(place)).toEqual({ at: resumed?.at, lastPosition: 2 })
  expect(await lostAt(next + 1)).toEqual({ at: null, lastPosition: 0 })
  expect([await deliveries.countAfter(1), await deliveries.countAfter(2), await deliveries.countAfter(next)]).toEqual([
    2, 1, 0,
  ])

  // Lower as well: a dump that is read into a new cluster begins at timeline 1 again.
  await runSql(url, 'UPDATE history SET timeline = 1000 WHERE timeline = 1')
  await deliverAll(store, [delivery(one.id)])
  expect(await deliveries.countAfter(1)).toBe(3)
  expect(await lostAt(next + 1)).toMatchObject({ lastPosition: next })
})

it('the deliveries of a customer are found across gaps in as many pages as without them', async () => {
  const { url, store, one, other } = await ownStore()
  const sent: string[] = []
  for (let n = 0; n < 24; n++) {
    if (n % 3 === 2) await runSql(url, FAIL_OVER)
    const some = Array.from({ length: 800 }, (_, k) =>
      delivery(k % 16 === 0 ? one.id : other.id, { orderId: null, payload: Buffer.from('{}') }),
    )
    await Promise.all(some.map((each) => store.deliveries.deliver(each)))
    sent.push(...some.filter(({ customerId }) => customerId === one.id).map(({ receiptId }) => receiptId))
  }
  const complete = `SELECT DISTINCT position / ${BLOCK_SIZE} AS block FROM delivery WHERE position / ${BLOCK_SIZE} < (SELECT max(position) / ${BLOCK_SIZE} FROM delivery) ORDER BY 1`
  const blocks = () => runSql(url, 'SELECT block FROM block_customers ORDER BY 1')
  // The store looks for one after some thousand deliveries only.
  const addAndList = async () => (await runSql(url, 'SELECT add_block_1()')) && blocks()
  await expect.poll(addAndList, { timeout: 10_000 }).toEqual(await runSql(url, complete))
  expect(await blocks()).toEqual(await runSql(url, 'SELECT DISTINCT block FROM delivery_block ORDER BY 1'))

  const found: DeliverySummary[] = []
  let pages = 0
  for (let position = Number.MAX_SAFE_INTEGER; position > 0; pages++) {
    const page = await store.deliveries.before(position, { customerId: one.id }, { limit: 100, scan: 100 })
    found.push(...page.deliveries)
    position = page.position
  }
  expect(found.map(({ receiptId }) => receiptId)).toEqual(sent.toReversed())
  // A page ends where the nearest deliveries do: at a gap.
  expect(pages).toBeLessThan(sent.length / 100 + 2 * 9)

  // A purge looks at the blocks that exist.
  const time = nextTime()
  await deliverAll(store, [receivedAt(time, one.id), receivedAt(time, other.id)])
  await purge(store, time)
  expect(await runSql(url, 'SELECT count(DISTINCT block)::int AS blocks FROM delivery_block')).toEqual([{ blocks: 1 }])
})

it('a role that may not ask for the timeline delivers, without gaps', async () => {
  const url = await newDatabase(inject('postgresUrl'))
  const role = `asks_nothing_${process.pid}`
  await runSql(url, `CREATE ROLE ${role} LOGIN`)
  onTestFinished(async () => void (await runSql(url, `DROP OWNED BY ${role}; DROP ROLE ${role}`)))
  await runSql(url, `GRANT ALL ON SCHEMA public TO ${role}`)
  const asRole = new URL(url)
  asRole.username = role
  const { store, one } = await ownStore(asRole.href)
  await deliverAll(store, [delivery(one.id)])
  expect((await store.history()).timeline).toBe(1)
  await runSql(url, 'REVOKE EXECUTE ON FUNCTION pg_walfile_name(pg_lsn) FROM PUBLIC')
  await deliverAll(store, [delivery(one.id)])
  const last = await store.deliveries.lastPosition()
  await deliverAll(store, [delivery(one.id)])
  expect(await store.history()).toMatchObject({ timeline: null, lastPosition: last + 1 })
  expect((await store.purges.state(last + 2)).lost).toEqual({ at: null, lastPosition: 0 })
})
