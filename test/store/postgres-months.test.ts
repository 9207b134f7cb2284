import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { expect, inject, it } from 'vitest'
import { purgeDeliveries } from '#src/purchase/purge/purge.rule.ts'
import { createDeliveryRetention } from '#src/purchase/purge/retention.ts'
import { newDatabase, runSql } from '../support/postgres/postgres-server.ts'
import { deliverBy, newPostgresStore, session, waitingIn } from '../support/postgres/postgres-session.ts'
import { customer, delivery, nextNumber } from '../support/store/store-rows.ts'
import { openTestStore } from '../support/store/test-store.ts'
import { until } from '../support/until.ts'
import { addEndpointWith, rowAt } from '../support/webhooks/unsent.ts'

const MONTH = 31 * 86_400_000
const now = Date.now()

const role = `service_${randomUUID().replaceAll('-', '')}`
const script = (name: string): string =>
  readFileSync(new URL(`../../deploy/postgres/${name}`, import.meta.url), 'utf8').replaceAll('teslim_service', role)

/** A partitioned database that is published, as for logical replication, and its URL for the role of the service. */
async function partitioned() {
  const owner = await newDatabase(inject('postgresUrl'))
  await runSql(owner, 'CREATE PUBLICATION everything FOR ALL TABLES')
  const store = await openTestStore(owner)
  await runSql(owner, script('service-role.sql'))
  await runSql(owner, script('partition-by-month.sql'))
  const service = new URL(owner)
  service.username = role
  const one = customer()
  await store.customers.insert(one)
  const deliver = (time: number, status: number) => {
    const hex = time.toString(16).padStart(12, '0')
    const receiptId = `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${nextNumber().toString(16).padStart(12, '0')}`
    return store.deliveries.deliver(delivery(one.id, { receiptId, receivedAt: time, orderId: 'o', status }))
  }
  const months = async (): Promise<string[]> =>
    (
      await runSql(
        owner,
        `SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'delivery'::regclass`,
      )
    ).map(({ name }) => String(name).replace(/^delivery_/, ''))
  return { owner, store, service: service.href, customerId: one.id, deliver, months }
}

/** The end of the month after the first partition. */
const nextEnd = Date.UTC(new Date(now).getUTCFullYear(), new Date(now).getUTCMonth() + 3)

const monthOf = (ahead: number): string => {
  const today = new Date(now)
  return new Date(Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + ahead))
    .toISOString()
    .slice(0, 7)
    .replace('-', '_')
}

it('the months ahead are made by the server, also with the rights of its role, while deliveries come in', async () => {
  const { owner, store, service, deliver, months } = await partitioned()
  for (const name of await months()) if (/^\d/.test(name)) await runSql(owner, `DROP TABLE delivery_${name}`)
  await expect(deliver(now + 3 * MONTH, 1)).rejects.toThrow('no partition')
  const replicas = [store, await openTestStore(service)]
  const delivering = Promise.all(Array.from({ length: 50 }, (_, n) => deliver(now + n, n % 4)))
  const made = await Promise.all(replicas.map(({ purges }) => purges.keepMonths(0)))
  await delivering
  expect(made.reduce((sum, each) => sum + each.made, 0)).toBe(2)
  expect(new Set(await months())).toEqual(new Set([monthOf(2), monthOf(3), 'before']))
  await deliver(now + 2 * MONTH, 1)
  for (const statement of [`DELETE FROM delivery_${monthOf(2)}`, `TRUNCATE delivery_${monthOf(3)}`])
    await expect(runSql(service, statement)).rejects.toThrow('permission denied')
  // Up to 24 months from now, whatever is asked for.
  expect(await runSql(service, 'SELECT make_months_1(100000) AS made')).toEqual([{ made: 21 }])
})

it('rows of every month can be erased and removed in a published database', async () => {
  const { owner, store, deliver } = await partitioned()
  await runSql(owner, `DROP TABLE delivery_${monthOf(3)}`)
  for (const name of Array.from({ length: 22 }, (_, index) => monthOf(4 + index)))
    await runSql(owner, `DROP TABLE delivery_${name}`)
  expect((await store.purges.keepMonths(0)).made).toBeGreaterThan(0)
  for (const months of [0, 2, 3]) await deliver(Date.parse(`${monthOf(months).replace('_', '-')}-02`), 1)
  const where = 'SELECT count(DISTINCT tableoid)::int AS months FROM delivery'
  expect(await runSql(owner, where)).toEqual([{ months: 3 }])
  await runSql(owner, 'UPDATE delivery SET order_id = NULL')
  await runSql(owner, 'DELETE FROM delivery')
  expect(await runSql(owner, where)).toEqual([{ months: 0 }])
})

it('a table without partitions has no months to make', async () => {
  const store = await openTestStore(await newPostgresStore())
  expect(await store.purges.keepMonths(now)).toEqual({ made: 0, dropped: [] })
})

it('a purge drops the months that it has emptied, and none that an order needs', async () => {
  const { store, deliver, months } = await partitioned()
  for (const status of [1, 2, 3]) await deliver(now + status, status)
  const purge = (before: number, orders: boolean) =>
    purgeDeliveries(
      { purges: store.purges, yielding: (step) => step() },
      { before, orders, unsent: false, now: before },
    )
  const end = now + 3 * MONTH
  expect(await purge(end, false)).toMatchObject({ deliveries: 2 })
  expect((await store.purges.keepMonths(end)).dropped).not.toContain('delivery_before')
  const last = await deliver(end + 1, 0)
  expect(await purge(end, true)).toMatchObject({ deliveries: 1, orders: 0 })
  expect((await store.purges.keepMonths(end)).dropped).toEqual(['delivery_before'])
  expect(await months()).not.toContain('before')
  expect((await store.deliveries.after(0, {}, { limit: 10, scan: 10 })).deliveries).toMatchObject([
    { receiptId: last.receiptId },
  ])
})

it('a month stays while an endpoint has not taken something in it; the role of the service may count what goes unsent', async () => {
  const { owner, service, deliver, months } = await partitioned()
  for (const status of [1, 2, 3]) await deliver(now + status, status)
  await deliver(now + 3 * MONTH + 1, 0)
  const store = await openTestStore(service)
  await runSql(owner, `GRANT EXECUTE ON FUNCTION purge_1, drop_months_1 TO ${role}`)
  const id = await addEndpointWith(store, { position: 1 }, { kept: [rowAt(1, 5)] })
  const end = now + 3 * MONTH
  const purge = (unsent: boolean) =>
    purgeDeliveries(
      { purges: store.purges, yielding: (step) => step() },
      { before: end, orders: true, unsent, now: end },
    )
  expect(await purge(false)).toMatchObject({ deliveries: 0, webhooks: [{ id, kept: 3, removed: 0 }] })
  expect((await store.purges.keepMonths(end)).dropped).not.toContain('delivery_before')
  expect(await purge(true)).toMatchObject({ deliveries: 3, webhooks: [{ id, kept: 0, removed: 3 }] })
  expect(await store.webhooks.find(id)).toMatchObject({ removedUnsent: 3, waiting: 0 })
  expect((await store.purges.keepMonths(end)).dropped).toContain('delivery_before')
  expect(await months()).not.toContain('before')
})

it('while somebody reads the deliveries no month is dropped, and the purge does not fail for it', async () => {
  const { owner, store, deliver, months } = await partitioned()
  const reader = await session(owner)
  await reader.query('BEGIN; SELECT FROM delivery LIMIT 1')
  const before = await months()
  const dropping = store.purges.keepMonths(nextEnd)
  expect(await deliver(now, 1)).toMatchObject({ duplicate: false })
  expect(await dropping).toEqual({ made: 0, dropped: [] })
  expect(await months()).toEqual(before)
  await reader.query('COMMIT')
  expect((await store.purges.keepMonths(nextEnd)).dropped).toEqual([`delivery_${monthOf(2)}`])
})

it('two purges at once drop the months between them, and neither fails', async () => {
  const { owner, store, months } = await partitioned()
  const other = await openTestStore(owner)
  const all = await months()
  const dated = all.filter((name) => /^\d/.test(name))
  const newest = String(dated.find((name) => dated.every((each) => each <= name)))
  const end = Date.parse(`${newest.replace('_', '-')}-01`)
  const slow = await session(owner)
  await slow.query('BEGIN')
  const [{ name: first }] = (await slow.query('SELECT drop_months_1($1) AS name', [end])).rows
  expect(await runSql(owner, 'SELECT drop_months_1($1)', [end])).toEqual([])
  await slow.query('COMMIT')
  const done = await Promise.all([store, other].map(({ purges }) => purges.keepMonths(end)))
  const dropped = [first, ...done.flatMap((each) => each.dropped)]
  expect(dropped).toHaveLength(all.length - 1)
  expect(new Set(dropped)).toEqual(new Set(all.filter((name) => name !== newest).map((name) => `delivery_${name}`)))
  expect(await months()).toEqual([newest])
})

it('a month that somebody else is dropping is left to the next purge', async () => {
  const { owner, store, months } = await partitioned()
  const operator = await session(owner)
  await operator.query('BEGIN; DROP TABLE delivery_before')
  expect(await runSql(owner, 'SELECT drop_months_1($1)', [nextEnd])).toEqual([])
  await operator.query('COMMIT')
  expect((await store.purges.keepMonths(nextEnd)).dropped).toEqual([`delivery_${monthOf(2)}`])
  expect(await months()).not.toContain(monthOf(2))
})

it('a delivery that comes into a month while it is dropped is not lost', async () => {
  const { owner, store, customerId } = await partitioned()
  const slow = await session(owner)
  const one = delivery(customerId, { receivedAt: 0, orderId: 'o' })
  await slow.query('BEGIN')
  await deliverBy(slow, one)
  let ended = false
  const dropping = store.purges.keepMonths(nextEnd).finally(() => {
    ended = true
  })
  await until('it waits, or has given up', async () => ended || (await waitingIn(owner)) > 0)
  await slow.query('COMMIT')
  await dropping
  expect(await store.deliveries.findByReceipt(one.receiptId)).toMatchObject({ orderId: 'o', origin: null })
})

it('a delivery that a wrong clock put into another month is found by its time', async () => {
  const { store, deliver } = await partitioned()
  for (const [index, time] of [now, now - 2 * MONTH, now + MONTH, now - 1000, now + 1000].entries())
    await deliver(time, index % 4)
  const found = async (from: number, to?: number) => {
    const { early, end } = await store.deliveries.positionsWithin({ from, to })
    const page = await store.deliveries.before(end + 1, { from, to }, { limit: 100, scan: 100 })
    return page.deliveries.filter(({ position }) => position > early).map(({ receivedAt }) => receivedAt - now)
  }
  expect(await found(now - 1000)).toEqual([1000, -1000, MONTH, 0])
  expect(await found(now - 2 * MONTH, now)).toEqual([-1000, -2 * MONTH])
  expect(await found(now + MONTH)).toEqual([MONTH])
})

it('the role of the service removes deliveries only if the operator grants it, and says so otherwise', async () => {
  const { owner, service, deliver } = await partitioned()
  for (const status of [1, 2]) await deliver(now - 100 * MONTH + status, status)
  await deliver(now - 2 * 86_400_000, 3)
  const { purges, audit } = await openTestStore(service)
  const clock = { now: () => now, monotonic: () => performance.now() }
  const log = { info: () => undefined, warn: () => undefined }
  const settings = { retentionDays: 400, retentionOrders: 'off', retentionUnsent: 'off' } as const
  const { runDue } = createDeliveryRetention({ purges, audit }, clock, log, settings)
  await expect(runDue()).rejects.toMatchObject({ code: 'STORE_FORBIDDEN', message: expect.stringContaining('grant') })
  await expect(purges.erase('anybody', 0, 10)).rejects.toMatchObject({ code: 'STORE_FORBIDDEN' })
  await runSql(owner, 'UPDATE purge SET leased_until = 0')
  await runSql(owner, `GRANT EXECUTE ON FUNCTION purge_1, drop_months_1 TO ${role}`)
  expect(await runDue()).toMatchObject({ deliveries: 2 })
  await expect(runSql(service, 'DELETE FROM delivery')).rejects.toThrow('permission denied')
})
