import { expect, it } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'
import type { Receipt, Store } from '#src/store/store.ts'
import { startPair } from '../support/postgres/postgres-faults.ts'
import { runSql } from '../support/postgres/postgres-server.ts'
import { customer, delivery } from '../support/store/store-rows.ts'

const { primary, standby } = await startPair()

const WAITING = `SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'`
const STORED = 'SELECT count(*)::int AS count FROM delivery'

async function open(): Promise<Store> {
  const { config } = loadConfig({ DATABASE_URL: primary.url, TESLIM_DATABASE_TIMEOUT: '2' })
  const { store } = await openStore(config, 0, { toServe: true })
  return store
}

it('a retry by Idempotency-Key is not confirmed before the standby has the first delivery', async () => {
  const [one, other] = [await open(), await open()]
  const who = customer()
  await one.customers.insert(who)
  const retry = (store: Store): Promise<Receipt | string> =>
    store.deliveries
      .deliver(delivery(who.id, { idempotency: { key: 'k', notBefore: 0 }, payload: Buffer.from('{"Status":1}') }))
      .catch(({ code }) => code)
  await runSql(primary.url, `ALTER SYSTEM SET synchronous_standby_names = '*'`)
  await runSql(primary.url, 'SELECT pg_reload_conf()')
  await standby.stop('fast')

  // Cut short, the first one is stored on the primary alone, and is not confirmed.
  const first = retry(one)
  await expect.poll(() => runSql(primary.url, WAITING), { timeout: 5000 }).toHaveLength(1)
  await runSql(primary.url, `SELECT pg_cancel_backend(pid) FROM (${WAITING}) waiting`)
  expect(await first).toBe('STORE_UNAVAILABLE')
  expect(await runSql(primary.url, STORED)).toEqual([{ count: 1 }])

  // Either replica finds it, stores nothing, and its commit waits nevertheless.
  for (const store of [other, one]) {
    const retried = retry(store)
    await expect.poll(() => runSql(primary.url, WAITING), { timeout: 5000 }).not.toEqual([])
    expect(await retried).toBe('STORE_UNAVAILABLE')
    await runSql(primary.url, `SELECT pg_terminate_backend(pid) FROM (${WAITING}) waiting`)
  }
  expect(await runSql(primary.url, STORED)).toEqual([{ count: 1 }])

  await standby.start()
  await expect.poll(() => retry(other), { timeout: 10_000 }).toMatchObject({ duplicate: true })
  await primary.kill()
  await Promise.all([one.close(), other.close()])
  await runSql(standby.url, 'SELECT pg_promote()')
  expect(await runSql(standby.url, STORED)).toEqual([{ count: 1 }])
}, 60_000)
