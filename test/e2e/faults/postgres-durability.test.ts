import { afterAll, expect, it, onTestFinished } from 'vitest'
import { fetch } from '../../support/app/checked-fetch.ts'
import { missingFromPostgres, underLoad } from '../../support/postgres/postgres-faults.ts'
import { newDatabase, runSql, startPostgres } from '../../support/postgres/postgres-server.ts'
import { teslim } from '../../support/processes/process.ts'

const postgres = await startPostgres()
afterAll(() => postgres.remove())

/** Each by itself, as ALTER SYSTEM runs in no transaction. */
async function alterSystem(statement: string): Promise<void> {
  await runSql(postgres.url, `ALTER SYSTEM ${statement}`)
  await runSql(postgres.url, 'SELECT pg_reload_conf()')
}

const SETTINGS = ['synchronous_commit', 'fsync', 'full_page_writes']

it.each(SETTINGS)('with %s off no server starts, and it says what to do', async (setting) => {
  await alterSystem(`SET ${setting} = off`)
  onTestFinished(() => alterSystem(`RESET ${setting}`))
  const env = { DATABASE_URL: postgres.url, PORT: '0', NODE_ENV: 'production' }
  const { status, stderr } = await teslim(['serve'], { cwd: '/', env })
  expect([status, stderr.split('\n').length]).toEqual([1, 2])
  expect(stderr).toContain(
    `teslim serve: The database has ${setting} off, so it could lose deliveries that were confirmed: turn it on`,
  )
})

it('a server that runs acknowledges nothing within a second of a setting that is off, and goes on once it is on', async () => {
  const url = await newDatabase(postgres.url)
  const { server, load } = await underLoad(url)
  const readiness = async () => (await fetch(`${server.url}/readyz`)).status
  expect(await readiness()).toBe(200)
  for (const setting of SETTINGS) {
    const refused = load.others.get(503) ?? 0
    await alterSystem(`SET ${setting} = off`)
    await expect.poll(() => load.others.get(503) ?? 0, { timeout: 1000, interval: 10 }).toBeGreaterThan(refused + 8)
    const before = load.acknowledged.length
    await expect.poll(() => load.others.get(503), { timeout: 20_000 }).toBeGreaterThan(refused + 100)
    expect(load.acknowledged.length).toBe(before)
    expect(await readiness()).toBe(503)
    const { message } = (await (await fetch(`${server.url}/readyz`)).json()) as { message: string }
    expect(message).toContain(`The database has ${setting} off`)
    expect(server.output()).toContain(`"reason":"The database has ${setting} off`)
    // Refused before it was stored, not afterwards.
    const [row] = await runSql(url, 'SELECT count(*)::int AS count FROM delivery')
    expect(row?.count).toBe(before)

    await alterSystem(`RESET ${setting}`)
    await load.more(50)
    expect(await readiness()).toBe(200)
  }
  await load.stop()
  expect(await missingFromPostgres(url, load.acknowledged)).toEqual([])
}, 60_000)

it('synchronous_commit off for the role alone: sessions that began before are safe and serve, new ones are refused', async () => {
  const url = new URL(await newDatabase(postgres.url))
  await runSql(postgres.url, 'CREATE ROLE careless LOGIN SUPERUSER')
  url.username = 'careless'
  const { load } = await underLoad(url.href)
  await runSql(postgres.url, 'ALTER ROLE careless SET synchronous_commit = off')
  await load.more(100)
  expect(load.others.size).toBe(0)
  await runSql(postgres.url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'careless'`)
  await expect.poll(() => load.others.get(503) ?? 0, { timeout: 5000 }).toBeGreaterThan(0)
  const before = load.acknowledged.length
  await runSql(postgres.url, 'ALTER ROLE careless RESET synchronous_commit')
  await load.more(50)
  await load.stop()
  expect(load.acknowledged.length).toBeGreaterThan(before)
  await runSql(postgres.url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'careless'`)
}, 60_000)
