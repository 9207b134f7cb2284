import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'
import type { Store } from '#src/store/store.ts'
import { runSql } from '../support/postgres/postgres-server.ts'
import { newPostgresStore } from '../support/postgres/postgres-session.ts'
import { tempFolder } from '../support/temp-folder.ts'

async function open(databaseUrl: string, toServe: boolean): Promise<Store> {
  const { config } = loadConfig({ DATABASE_URL: databaseUrl, TESLIM_DATABASE_TIMEOUT: '10' })
  return (await openStore(config, 0, { toServe })).store
}

it('the servers on a PostgreSQL database are counted, and neither commands nor servers on other databases', async () => {
  const [here, there] = [await newPostgresStore(), await newPostgresStore()]
  const command = await open(here, false)
  expect(await command.replicas()).toBe(0)
  const [first, second, other] = [await open(here, true), await open(here, true), await open(there, true)]
  for (const store of [command, first, second]) expect(await store.replicas()).toBe(2)
  expect(await other.replicas()).toBe(1)
  await second.close()
  await expect.poll(() => first.replicas()).toBe(1)
  for (const store of [command, first, other]) await store.close()
})

it('a file has no replicas', async () => {
  const store = await open(`sqlite:${join(tempFolder(), 'one.db')}`, true)
  expect(await store.replicas()).toBeUndefined()
  await store.close()
})

it('a server that lost its connections is counted once it has new ones', async () => {
  const url = await newPostgresStore()
  const store = await open(url, true)
  afterAll(() => store.close())
  const KILL = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE application_name = 'teslim' AND datname = current_database()`
  await runSql(url, KILL)
  await expect.poll(() => store.replicas().catch(() => undefined), { timeout: 5000 }).toBe(1)
})

it('a role with the grants of service-role.sql sees the servers of other roles, too', async () => {
  const url = new URL(await newPostgresStore())
  const owner = await open(url.href, true)
  const role = `service_${randomUUID().replaceAll('-', '')}`
  const grants = readFileSync(join(import.meta.dirname, '../../deploy/postgres/service-role.sql'), 'utf8')
  await runSql(url.href, grants.replaceAll('teslim_service', role))
  const service = await open(Object.assign(new URL(url), { username: role }).href, true)
  for (const store of [owner, service]) expect(await store.replicas()).toBe(2)
  for (const store of [owner, service]) await store.close()
  await runSql(url.href, `DROP OWNED BY ${role}; DROP ROLE ${role}`)
})
