import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, it, onTestFinished } from 'vitest'
import { fetch } from '../../support/app/checked-fetch.ts'
import { makeNamespace, whyNoNamespace } from '../../support/network/network-namespace.ts'
import { startTcpProxy } from '../../support/network/tcp-proxy.ts'
import {
  addReader,
  keepReading,
  missingFromPostgres,
  startFollower,
  type UnderLoad,
  underLoad,
} from '../../support/postgres/postgres-faults.ts'
import { newDatabase, runSql, startPostgres } from '../../support/postgres/postgres-server.ts'
import { until } from '../../support/until.ts'

const postgres = await startPostgres({ settings: ["listen_addresses = '0.0.0.0'"] })
afterAll(() => postgres.remove())
const port = Number(new URL(postgres.url).port)

/** A query may take 1 second, and 1 is added for the server to say so; 2 to connect. Twice, and the tests' own burden. */
const BOUND_MILLISECONDS = 8000
const SETTINGS = { TESLIM_DATABASE_TIMEOUT: '1' }

async function cutAndMend({ server, load, slowest }: UnderLoad, cut: () => void, mend: () => void): Promise<void> {
  const readiness = async () => (await fetch(`${server.url}/readyz`)).status
  const before = load.others.get(503) ?? 0
  cut()
  await expect.poll(() => load.others.get(503) ?? 0, { timeout: BOUND_MILLISECONDS }).toBeGreaterThan(before)
  const acknowledged = load.acknowledged.length
  await expect.poll(readiness, { timeout: BOUND_MILLISECONDS }).toBe(503)
  expect((await fetch(`${server.url}/livez`)).status).toBe(200)
  // Once it is known to be away nobody waits.
  const refused = load.others.get(503) ?? 0
  await expect.poll(() => load.others.get(503), { timeout: 20_000 }).toBeGreaterThan(refused + 50)
  expect(load.acknowledged.length).toBe(acknowledged)
  mend()
  await expect.poll(readiness, { timeout: 15_000 }).toBe(200)
  await load.more(50)
  expect([...load.others.keys()]).toEqual([503])
  expect(slowest()).toBeLessThan(BOUND_MILLISECONDS)
}

async function expectSound(url: string, { load }: UnderLoad): Promise<void> {
  await load.stop()
  expect(await missingFromPostgres(url, load.acknowledged)).toEqual([])
  const connections = async () =>
    (
      await runSql(postgres.url, `SELECT 1 FROM pg_stat_activity WHERE application_name = 'teslim' AND datname = $1`, [
        new URL(url).pathname.slice(1),
      ])
    ).length
  await expect.poll(connections, { timeout: 10_000 }).toBeLessThanOrEqual(8)
}

it('a network that passes nothing on and says nothing: 503 in bounded time, nothing acknowledged is lost, and it goes on', async () => {
  const url = await newDatabase(postgres.url)
  const proxy = await startTcpProxy(postgres.url)
  const throughProxy = new URL(url)
  throughProxy.port = `${proxy.port}`
  const running = await underLoad(url, SETTINGS, { serverUrl: throughProxy.href })
  await cutAndMend(running, proxy.stall, proxy.mend)
  await expectSound(url, running)
}, 60_000)

it('an address that leads to another machine: not ready while readers have only dead connections, for some ten seconds', async () => {
  const url = await newDatabase(postgres.url)
  const proxy = await startTcpProxy(postgres.url)
  const throughProxy = new URL(url)
  throughProxy.port = `${proxy.port}`
  const password = await addReader(url)
  const { server, load } = await underLoad(url, SETTINGS, { serverUrl: throughProxy.href })
  const follower = await startFollower(server.url, password)
  keepReading(follower)
  await load.more(50)
  proxy.forget()
  await load.more(50)
  let since = performance.now()
  let answered = 0
  const readersAreBack = async (): Promise<boolean> => {
    const [read, ready] = await Promise.all([follower.look(6), fetch(`${server.url}/readyz`)])
    if (read === 200) {
      since = performance.now()
      answered++
    } else if (performance.now() - since > BOUND_MILLISECONDS) expect(ready.status).toBe(503)
    return answered === 20
  }
  await until('readers are back', readersAreBack, { milliseconds: 2 * BOUND_MILLISECONDS })
  await expect.poll(() => fetch(`${server.url}/readyz`).then(({ status }) => status)).toBe(200)
  await load.stop()
  expect(await missingFromPostgres(url, load.acknowledged)).toEqual([])
}, 60_000)

const why = whyNoNamespace()
if (why !== undefined) console.log(`skipped: no network namespace can be made here (${why})`)

it.skipIf(why !== undefined)(
  'the same where the packets themselves are dropped',
  async () => {
    const namespace = makeNamespace()
    onTestFinished(namespace.remove)
    appendFileSync(join(postgres.data, 'pg_hba.conf'), `host all all ${namespace.there}/32 trust\n`)
    await runSql(postgres.url, 'SELECT pg_reload_conf()')
    const url = await newDatabase(postgres.url)
    const byCable = new URL(url)
    byCable.hostname = namespace.here
    const running = await underLoad(
      url,
      { ...SETTINGS, HOST: namespace.there },
      { serverUrl: byCable.href, through: ['ip', 'netns', 'exec', namespace.name] },
    )
    await cutAndMend(running, () => namespace.cut(port), namespace.mend)
    await expectSound(url, running)
  },
  60_000,
)
