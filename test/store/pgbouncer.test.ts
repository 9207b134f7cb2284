import { afterAll, describe, expect, inject, it, onTestFinished } from 'vitest'
import { loadConfig, type Variables } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'
import type { Receipt, Store } from '#src/store/store.ts'
import { pgbouncer, startPgbouncer } from '../support/postgres/pgbouncer.ts'
import { alterSystem, startPair, urlOfAll } from '../support/postgres/postgres-faults.ts'
import { newDatabase, runSql, startOldestPostgres } from '../support/postgres/postgres-server.ts'
import { session, waitingIn } from '../support/postgres/postgres-session.ts'
import { customer, delivery } from '../support/store/store-rows.ts'
import { until } from '../support/until.ts'
import type { Open } from './conformance/promises.ts'
import { describeStore } from './store-conformance.ts'

const open = async (url: string, settings: Variables = {}) =>
  (
    await openStore(
      loadConfig({ DATABASE_URL: url, TESLIM_DATABASE_POOL: '4', TESLIM_DATABASE_TIMEOUT: '10', ...settings }).config,
      0,
    )
  ).store

/** Three replicas deliver at once. */
async function deliverFromMany(url: string): Promise<void> {
  const stores = await Promise.all([open(url), open(url), open(url)])
  const who = customer()
  await stores[0]?.customers.insert(who)
  const receipts: Receipt[] = []
  const deliverMany = async (store: Store, replica: number): Promise<void> => {
    for (let round = 0; round < 40; round++) {
      const many = Array.from({ length: 8 }, (_, order) => delivery(who.id, { orderId: `${replica}-${order}` }))
      receipts.push(...(await Promise.all(many.map((one) => store.deliveries.deliver(one)))))
    }
  }
  await Promise.all(stores.map(deliverMany))
  expect(new Set(receipts.map(({ receiptId }) => receiptId)).size).toBe(3 * 40 * 8)
  for (const replica of stores.keys()) {
    expect(await stores[0]?.deliveries.history(who.id, `${replica}-7`)).toHaveLength(40)
  }
  for (const store of stores) await store.close()
}

if (pgbouncer === undefined) it.skip('(no pgbouncer is installed here, so nothing is tested behind one)')
else {
  describe(`behind PgBouncer ${pgbouncer} in transaction mode`, async () => {
    // In front of the oldest version, so that all that an adapter must do is tried on that, too; the newest is tried without a pooler.
    const oldest = await startOldestPostgres()
    const serverUrl = oldest?.url ?? inject('postgresUrl')
    const pooler = await startPgbouncer(await newDatabase(serverUrl))
    afterAll(() => oldest?.remove())
    /** Another database at the same pooler. */
    const through = (url: string): string => {
      const place = new URL(pooler)
      place.pathname = new URL(url).pathname
      return place.href
    }
    const openEmpty = (): Open => {
      const created = newDatabase(serverUrl)
      return async () => open(through(await created))
    }

    if (oldest === undefined)
      console.info('skipped: there is no PostgreSQL 14 for this machine; behind PgBouncer is the usual one')
    it.skipIf(oldest === undefined)('stands in front of PostgreSQL 14', async () => {
      expect(await runSql(pooler, 'SHOW server_version')).toEqual([{ server_version: expect.stringMatching(/^14\./) }])
    })

    describeStore('postgres', () => open(pooler), openEmpty)

    it('replicas are hidden', async () => {
      const store = await open(pooler)
      expect(await store.replicas()).toBeUndefined()
      await store.close()
    })

    it('a query that is given up ends at the server too', async () => {
      const where = await newDatabase(serverUrl)
      const store = await open(through(where), { TESLIM_DATABASE_TIMEOUT: '1' })
      const locker = await session(where)
      await locker.query('BEGIN; LOCK TABLE customer IN ACCESS EXCLUSIVE MODE')
      await expect(store.customers.findById('a')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
      await expect.poll(() => waitingIn(where), { timeout: 5000 }).toBe(0)
      await locker.query('COMMIT')
      await expect.poll(() => store.customers.findById('a').catch(() => null), { timeout: 5000 }).toBe(undefined)
      await store.close()
    })

    it('replicas that share its connections store every delivery once', () => deliverFromMany(pooler))

    it('with one at each server, nobody reads from the one that no longer accepts writes', async () => {
      const { primary, standby } = await startPair()
      const [first, second] = await Promise.all([startPgbouncer(primary.url), startPgbouncer(standby.url)])
      const store = await open(urlOfAll(first, second), { TESLIM_DATABASE_POOL: '8' })
      onTestFinished(store.close)
      const one = customer()
      await store.customers.insert(one)
      const readAll = () => Promise.all(Array.from({ length: 5 }, () => store.customers.list({ limit: 10 })))
      await readAll()
      const there = () => runSql(standby.url, 'SELECT FROM customer').catch(() => [])
      await until('the standby has it', async () => (await there()).length === 1)
      await runSql(standby.url, 'SELECT pg_promote()')
      const successor = await open(second)
      await successor.customers.insert(customer())
      await successor.close()

      // PgBouncer keeps its clients, whatever becomes of the server.
      await alterSystem(primary, 'SET default_transaction_read_only = on')
      await until('it delivers', () =>
        store.deliveries.deliver(delivery(one.id)).then(
          () => true,
          () => false,
        ),
      )
      for (let times = 0; times < 10; times++)
        expect((await readAll()).map(({ length }) => length)).toEqual([2, 2, 2, 2, 2])
      expect(await runSql(standby.url, 'SELECT FROM delivery')).toHaveLength(1)
    }, 60_000)
  })

  describe(`behind PgBouncer ${pgbouncer} in session mode`, async () => {
    const pooler = await startPgbouncer(await newDatabase(inject('postgresUrl')), 'session', 20)

    it('replicas store every delivery once', () => deliverFromMany(pooler))

    it('who watches is told of what another replica stores', async () => {
      const [here, there] = await Promise.all([open(pooler), open(pooler)])
      const who = customer()
      await there.customers.insert(who)
      const told = Promise.withResolvers<void>()
      const stop = here.deliveries.watch(told.resolve)
      await there.deliveries.deliver(delivery(who.id))
      await told.promise
      stop()
      for (const store of [here, there]) await store.close()
    })
  })
}
