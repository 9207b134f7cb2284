import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { afterAll, expect, inject, it } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { purgeDeliveries } from '#src/purchase/purge/purge.rule.ts'
import { createDeliveryRetention } from '#src/purchase/purge/retention.ts'
import { openStore } from '#src/store/open-store.ts'
import type { Store } from '#src/store/store.ts'
import { newDatabase, runSql } from '../support/postgres-server.ts'
import { customer, delivery, nextNumber } from '../support/store-rows.ts'

const MONTH = 31 * 86_400_000
const now = Date.now()

async function open(databaseUrl: string): Promise<Store> {
  const { store } = await openStore(loadConfig({ DATABASE_URL: databaseUrl }).config, 0)
  afterAll(() => store.close())
  return store
}

const role = `service_${randomUUID().replaceAll('-', '')}`
const script = (name: string): string =>
  readFileSync(new URL(`../../deploy/postgres/${name}`, import.meta.url), 'utf8').replaceAll('teslim_service', role)

/** A partitioned database, and its URL for the role of the service. */
async function partitioned() {
  const owner = await newDatabase(inject('postgresUrl'))
  const store = await open(owner)
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
  return { owner, store, service: service.href, deliver, months }
}

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
  const replicas = [store, await open(service)]
  const delivering = Promise.all(Array.from({ length: 50 }, (_, n) => deliver(now + n, n % 4)))
  const made = await Promise.all(replicas.map(({ purges }) => purges.keepMonths(0)))
  await delivering
  expect(made.reduce((sum, each) => sum + each.made, 0)).toBe(2)
  expect(new Set(await months())).toEqual(new Set([monthOf(2), monthOf(3), 'before']))
  await deliver(now + 2 * MONTH, 1)
  for (const statement of [`DELETE FROM delivery_${monthOf(2)}`, `TRUNCATE delivery_${monthOf(3)}`])
    await expect(runSql(service, statement)).rejects.toThrow('permission denied')
})

it('a table without partitions has no months to make', async () => {
  const store = await open(await newDatabase(inject('postgresUrl')))
  expect(await store.purges.keepMonths(now)).toEqual({ made: 0, dropped: [] })
})

it('a purge drops the months that it has emptied, and none that an order needs', async () => {
  const { store, deliver, months } = await partitioned()
  for (const status of [1, 2, 3]) await deliver(now + status, status)
  const purge = (before: number, orders: boolean) =>
    purgeDeliveries({ purges: store.purges, pace: (step) => step() }, { before, orders })
  const end = now + 3 * MONTH
  expect(await purge(end, false)).toMatchObject({ deliveries: 2 })
  expect((await store.purges.keepMonths(end)).dropped).not.toContain('delivery_before')
  const last = await deliver(end + 1, 0)
  expect(await purge(end, true)).toMatchObject({ deliveries: 1, orders: 0 })
  expect((await store.purges.keepMonths(end)).dropped).toEqual(['delivery_before'])
  expect(await months()).not.toContain('before')
  expect((await store.deliveries.after(0, {}, { most: 10, look: 10 })).deliveries).toMatchObject([
    { receiptId: last.receiptId },
  ])
})

it('the role of the service removes deliveries only if the operator grants it, and says so otherwise', async () => {
  const { owner, service, deliver } = await partitioned()
  for (const status of [1, 2]) await deliver(now - 100 * MONTH + status, status)
  await deliver(now - 2 * 86_400_000, 3)
  const { purges, audit, deliveries } = await open(service)
  const clock = { now: () => now, monotonic: () => performance.now() }
  const log = { info: () => undefined, warn: () => undefined }
  const { keep } = createDeliveryRetention({ purges, deliveries, audit, clock, log }, { days: 400, orders: false })
  await expect(keep()).rejects.toMatchObject({ code: 'STORE_FORBIDDEN', message: expect.stringContaining('grant') })
  await expect(purges.erase('anybody', 0, 10)).rejects.toMatchObject({ code: 'STORE_FORBIDDEN' })
  await runSql(owner, 'UPDATE purge SET leased_until = 0')
  await runSql(owner, `GRANT EXECUTE ON FUNCTION purge_1, drop_months_1 TO ${role}`)
  expect(await keep()).toMatchObject({ deliveries: 2 })
  await expect(runSql(service, 'DELETE FROM delivery')).rejects.toThrow('permission denied')
})
