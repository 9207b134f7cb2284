import pg from 'pg'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { ask } from '../../support/app/ask.ts'
import { fetch } from '../../support/app/checked-fetch.ts'
import { addReader, missingFromPostgres, underLoad } from '../../support/postgres/postgres-faults.ts'
import { newDatabase, runSql, startPostgres } from '../../support/postgres/postgres-server.ts'
import type { Load } from '../../support/processes/ledger.ts'
import { runPrepared } from '../../support/processes/prepared-commands.ts'
import { until } from '../../support/until.ts'

const postgres = await startPostgres()
afterAll(() => postgres.remove())

let roles = 0

/** A database of a role that may have so many connections; resolves to its URL, and the administrator's. */
async function limitedTo(connections: number) {
  const admin = new URL(await newDatabase(postgres.url))
  const role = `service_${roles++}`
  await runSql(admin.href, `CREATE ROLE ${role} LOGIN; ALTER DATABASE ${admin.pathname.slice(1)} OWNER TO ${role}`)
  await runSql(admin.href, `ALTER ROLE ${role} CONNECTION LIMIT ${connections}; GRANT ALL ON SCHEMA public TO ${role}`)
  const url = new URL(admin)
  url.username = role
  return { admin: admin.href, url: url.href, role }
}

/** Six that read all the time, and what they were answered. */
async function readers(url: string, password: string) {
  const login = async () =>
    fetch(`${url}/Login/Customer/Api/Verify`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ Email: 'o@b.co', Password: password }),
    })
  let answer = await login()
  for (let tries = 0; tries < 20 && answer.status === 503; tries++) answer = await login()
  const { data } = (await answer.json()) as { data: { Token: string } }
  const answers = new Map<number, number>()
  let reading = true
  const read = async (): Promise<void> => {
    while (reading) {
      const { status } = await ask(`${url}/Purchase/list?limit=100&product=none`, {
        method: 'GET',
        headers: { authorization: `Bearer ${data.Token}` },
      })
      answers.set(status, (answers.get(status) ?? 0) + 1)
    }
  }
  const all = Promise.all(Array.from({ length: 6 }, read))
  const stop = async (): Promise<void> => {
    reading = false
    await all
  }
  onTestFinished(stop)
  return { answers, stop }
}

/** Makes every replica read the accounts again after each few deliveries. */
function changeAccounts(admin: string, load: Load) {
  let changing = true
  const all = (async () => {
    while (changing) {
      await runSql(admin, 'UPDATE account_version SET number = number + 1')
      await load.more(5)
    }
  })()
  return async () => {
    changing = false
    await all
  }
}

it.each([
  ['the server gives 2 connections', 2, '8'],
  ['TESLIM_DATABASE_POOL is 3', 50, '3'],
])(
  'where %s, deliveries are served whatever six readers do',
  async (_, limit, pool) => {
    const { admin, url } = await limitedTo(limit)
    const password = await addReader(url)
    // A session that is no longer listed may still be counted.
    const isFree = (): Promise<boolean> =>
      Promise.all([runSql(url, 'SELECT pg_sleep(0.05)'), runSql(url, 'SELECT pg_sleep(0.05)')]).then(
        () => true,
        () => false,
      )
    const { server, load, slowest } = await underLoad(
      url,
      { TESLIM_DATABASE_POOL: pool },
      { beforeServe: () => until('the sessions of the commands before have ended', isFree) },
    )
    const { answers, stop } = await readers(server.url, password)
    const stopChanging = changeAccounts(admin, load)
    await load.more(200)
    await Promise.all([stop(), stopChanging()])
    await load.stop()
    expect(Object.fromEntries(load.others)).toEqual({})
    expect(slowest()).toBeLessThan(5000)
    expect(answers.get(200)).toBeGreaterThan(0)
    expect([...answers.keys()].filter((status) => status !== 200 && status !== 503)).toEqual([])
    expect(await missingFromPostgres(admin, load.acknowledged)).toEqual([])
  },
  60_000,
)

it('where somebody else takes every connection there is, deliveries keep theirs, and get it back before readers do', async () => {
  const { admin, url, role } = await limitedTo(8)
  const password = await addReader(url)
  const { server, load } = await underLoad(url)
  const { answers } = await readers(server.url, password)
  const others: pg.Client[] = []
  onTestFinished(async () => void (await Promise.all(others.map((each) => each.end()))))
  const takeOne = async (): Promise<boolean> => {
    const client = new pg.Client({ connectionString: url, application_name: 'somebody else' })
    client.on('error', () => undefined)
    try {
      await client.connect()
      return others.push(client) > 0
    } catch {
      return false
    }
  }
  while (await takeOne());
  await load.more(100)
  expect(Object.fromEntries(load.others)).toEqual({})

  // Whoever takes the place that it leaves: one of a reader is given up for it.
  const line = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = '${role}' AND query LIKE '%deliver_1%'`
  for (let times = 0; times < 2; times++) {
    await runSql(admin, line)
    await takeOne()
    await load.more(50)
  }
  await load.stop()
  expect([...load.others.keys()].filter((status) => status !== 503)).toEqual([])
  expect(answers.get(200)).toBeGreaterThan(0)
  expect(await missingFromPostgres(admin, load.acknowledged)).toEqual([])
}, 60_000)

it('while the table of customers is locked, no more connections are open than may be, and deliveries go on', async () => {
  const url = await newDatabase(postgres.url)
  const password = await addReader(url)
  // Else the first login would make one, after which the server reads the customers again.
  const where = { cwd: '/', env: { NODE_ENV: 'production', DATABASE_URL: url } }
  expect((await runPrepared(['signing-key', 'rotate'], where)).status).toBe(0)
  const { server, load } = await underLoad(url, { TESLIM_DATABASE_TIMEOUT: '1' })
  const locker = new pg.Client({ connectionString: url, application_name: 'locker' })
  await locker.connect()
  onTestFinished(() => locker.end())
  const { answers } = await readers(server.url, password)
  await locker.query('BEGIN; LOCK TABLE customer IN ACCESS EXCLUSIVE MODE')
  const counts: number[] = []
  const lockedUntil = performance.now() + 2500
  while (performance.now() < lockedUntil) {
    const [row] = await runSql(
      postgres.url,
      `SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = $1 AND application_name <> 'locker'`,
      [new URL(url).pathname.slice(1)],
    )
    counts.push(row?.count as number)
    await load.more(10)
  }
  expect(Object.fromEntries(load.others)).toEqual({})
  expect(Math.max(...counts)).toBeLessThanOrEqual(8)
  expect(Math.max(...counts)).toBeGreaterThan(4)
  const served = answers.get(200) ?? 0
  expect(answers.get(503)).toBeGreaterThan(0)
  await locker.query('COMMIT')
  await expect.poll(() => answers.get(200) ?? 0, { timeout: 5000 }).toBeGreaterThan(served + 10)
  await load.stop()
  expect(await missingFromPostgres(url, load.acknowledged)).toEqual([])
}, 60_000)
