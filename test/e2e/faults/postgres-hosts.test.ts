import { expect, it, onTestFinished } from 'vitest'
import { fetch } from '../../support/app/checked-fetch.ts'
import {
  addReader,
  keepReading,
  missingFromPostgres,
  sessionsAt,
  startFollower,
  startPair,
  underLoad,
  urlOfAll,
  waitForStandby,
} from '../../support/postgres/postgres-faults.ts'
import { runSql } from '../../support/postgres/postgres-server.ts'
import { deliver, keyOfSupplier } from '../../support/processes/ledger.ts'
import { serve } from '../../support/processes/process.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { until } from '../../support/until.ts'

/** A server that knows both of a pair, under load, and a follower. */
async function servedByPair() {
  const { primary, standby } = await startPair()
  await waitForStandby(primary)
  const password = await addReader(primary.url)
  const url = urlOfAll(primary.url, standby.url)
  const running = await underLoad(url, { TESLIM_DATABASE_TIMEOUT: '2' })
  const follower = await startFollower(running.server.url, password)
  expect([await follower.login(), await follower.read()]).toEqual([200, 200])
  const stopReading = keepReading(follower)
  const works = async (): Promise<boolean> => {
    const { status } = await fetch(`${running.server.url}/readyz`)
    return status === 200 && (await follower.read()) === 200 && (await follower.login()) === 200
  }
  /** Everything that was acknowledged is at the new primary and in the feed, once. */
  const expectComplete = async (): Promise<void> => {
    await Promise.all([running.load.stop(), stopReading()])
    expect(await missingFromPostgres(standby.url, running.load.acknowledged)).toEqual([])
    const stored = (await runSql(standby.url, 'SELECT order_id FROM delivery ORDER BY position')).map(
      (row) => row.order_id,
    )
    await until('the follower has read everything', async () => {
      await follower.read()
      return follower.orders.length >= stored.length
    })
    expect(follower.orders).toEqual(stored)
  }
  return { primary, standby, works, expectComplete, url, ...running }
}

it('a primary that accepts sessions but commits nothing is left for the standby that was promoted, by all', async () => {
  const { primary, standby, load, works, expectComplete, key, url } = await servedByPair()
  const env = { NODE_ENV: 'production', DATABASE_URL: url, TESLIM_DATABASE_TIMEOUT: '2' }
  const another = await serve({ cwd: tempFolder(), env })
  const loads = [load, deliver({ url: another.url, key })]
  onTestFinished(() => Promise.all(loads.map((each) => each.stop())).then(() => undefined))
  await Promise.all(loads.map((each) => each.more(20)))
  // It is not told: nothing fences it. The first commit waits for a standby forever, and keeps all others waiting for its lock.
  await runSql(standby.url, 'SELECT pg_promote()')
  await until('deliveries and readers are back', async () => (await sessionsAt(standby)) > 0 && works())
  await Promise.all(loads.map((each) => each.more(50)))
  await until('no session is left at the old one', async () => (await sessionsAt(primary)) === 0)
  await Promise.all(loads.map((each) => each.stop()))
  await expectComplete()
  expect(Object.keys(Object.fromEntries(load.others))).toEqual(['503'])
}, 60_000)

it('a primary that is frozen is left, and logins and the feed are back with the deliveries', async () => {
  const { primary, standby, load, works, expectComplete } = await servedByPair()
  primary.freeze()
  await runSql(standby.url, 'SELECT pg_promote()')
  const before = load.acknowledged.length
  await until('deliveries are back', () => load.acknowledged.length > before + 50, { milliseconds: 8000 })
  // Far below the ten seconds after which a server that says nothing is given up for dead.
  await until('readers are back, too', works, { milliseconds: 3000 })
  await load.more(50)
  await expectComplete()
  // Thawed, it is a second server that accepts writes: of the two the later one is used.
  primary.thaw()
  await runSql(standby.url, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'teslim'`)
  await until('it works again', works)
  expect([await sessionsAt(primary), (await sessionsAt(standby)) > 0]).toEqual([0, true])
}, 60_000)

it('of two servers that accept writes the one that was promoted later is used, whatever their order, and the other one only after a while', async () => {
  const { primary, standby } = await startPair()
  const env = { NODE_ENV: 'production' }
  const where = { cwd: tempFolder(), env: { ...env, DATABASE_URL: primary.url } }
  const key = await keyOfSupplier(where)
  const there = async () => (await runSql(standby.url, `SELECT to_regclass('api_key') AS there`))[0]?.there !== null
  await until('the standby has the tables', there)
  await until('and the key', async () => (await runSql(standby.url, 'SELECT FROM api_key')).length > 0)
  await runSql(standby.url, 'SELECT pg_promote()')
  const started = async (url: string) => {
    const server = await serve({ ...where, env: { ...env, DATABASE_URL: url } })
    const load = deliver({ url: server.url, key })
    onTestFinished(() => load.stop())
    await load.more(20)
    expect(await sessionsAt(primary)).toBe(0)
    return { server, load }
  }
  const servers = await Promise.all(
    [urlOfAll(primary.url, standby.url), urlOfAll(standby.url, primary.url)].map(started),
  )
  await standby.kill()
  for (const { server, load } of servers) {
    await server.printed(/"reason":"The only server that accepts writes was superseded/)
    await load.more(20)
  }
}, 60_000)
