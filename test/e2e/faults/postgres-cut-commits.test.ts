import { expect, it } from 'vitest'
import { ask } from '../../support/app/ask.ts'
import { pgbouncer, startPgbouncer } from '../../support/postgres/pgbouncer.ts'
import {
  addReader,
  startFollower,
  startPair,
  stopSending,
  urlOfAll,
  waitForStandby,
} from '../../support/postgres/postgres-faults.ts'
import { type PostgresServer, runSql } from '../../support/postgres/postgres-server.ts'
import { keyOfSupplier } from '../../support/processes/ledger.ts'
import { serve } from '../../support/processes/process.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { until } from '../../support/until.ts'

type Pair = Awaited<ReturnType<typeof startPair>>

/** A pair of which nothing reaches the standby any more, and a server on both with a delivery that both have. */
async function servedByPair(urlOf: (pair: Pair) => Promise<string>) {
  const pair = await startPair()
  const { primary, standby } = pair
  await waitForStandby(primary)
  const where = { cwd: tempFolder(), env: { NODE_ENV: 'production', DATABASE_URL: primary.url } }
  const key = await keyOfSupplier(where)
  const password = await addReader(primary.url)
  const env = { ...where.env, DATABASE_URL: await urlOf(pair), TESLIM_DATABASE_TIMEOUT: '1' }
  const start = () => serve({ ...where, env })
  const { url } = await start()
  const deliver = async (order: string, to = url): Promise<number> => {
    const body = JSON.stringify({ OrderID: order, Status: 1 })
    return (
      await ask(`${to}/Purchase/update`, { method: 'POST', headers: { ApiKey: key, 'Idempotency-Key': order }, body })
    ).status
  }
  const follower = await startFollower(url, password)
  expect(await deliver('first')).toBe(200)
  await until('the follower has read it', async () => (await follower.read()) === 200 && follower.orders.length === 1)
  await stopSending(primary)

  /** The standby takes over. What is delivered from then on is in the feed. */
  const failOver = async (): Promise<void> => {
    await primary.kill()
    await runSql(standby.url, 'SELECT pg_promote()')
    await until('deliveries are back', async () => (await deliver('next')) === 200)
    await until('the follower has read on', async () => (await follower.read()) === 200 && follower.orders.length > 1)
    expect(follower.orders).toEqual(['first', 'next'])
    expect(await ordersAt(standby)).toEqual(['first', 'next'])
  }
  return { ...pair, start, deliver, follower, failOver }
}

const ordersAt = async ({ url }: PostgresServer): Promise<unknown[]> =>
  (await runSql(url, 'SELECT order_id FROM delivery ORDER BY position')).map(({ order_id }) => order_id)

/** Does something for so many seconds. */
async function during(seconds: number, work: () => Promise<void>): Promise<void> {
  const end = performance.now() + seconds * 1000
  await until('the time is over', async () => {
    await work()
    return performance.now() > end
  })
}

if (pgbouncer === undefined) it.skip('(no pgbouncer is installed here, so no commit is given up behind one)')
else {
  it('behind PgBouncer a commit that waits for a standby is not cut short by us, so nobody sees what the standby lacks', async () => {
    const { primary, deliver, follower, failOver } = await servedByPair(async ({ primary, standby }) =>
      urlOfAll(await startPgbouncer(primary.url), await startPgbouncer(standby.url)),
    )
    expect(await deliver('lost')).toBe(503)
    await during(3, async () => {
      await follower.read()
      expect([await ordersAt(primary), follower.orders]).toEqual([['first'], ['first']])
    })
    await failOver()
  }, 60_000)
}

it('what a commit left that somebody cut short is shown to no follower, and a retry of it gets no receipt', async () => {
  const { primary, standby, start, deliver, follower, failOver } = await servedByPair(async (pair) =>
    urlOfAll(pair.primary.url, pair.standby.url),
  )
  const CUT_SHORT = `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`
  const lost = deliver('lost')
  await until('it is there, but not at the standby', async () => {
    await runSql(primary.url, CUT_SHORT)
    return (await ordersAt(primary)).length === 2
  })
  expect([await lost, await ordersAt(standby)]).toEqual([503, ['first']])
  // A server that starts now cannot know how it came to be there.
  const { url: another } = await start()
  const newcomer = follower.readerAt(another)
  const cutting = during(4, async () => void (await runSql(primary.url, CUT_SHORT)))
  await during(3, async () => {
    expect(await follower.read()).toBe(503)
    expect(await newcomer.read()).toBe(503)
  })
  expect([await deliver('lost'), await deliver('lost', another)]).toEqual([503, 503])
  await cutting
  expect([follower.orders, newcomer.orders]).toEqual([['first'], []])
  await failOver()
  await until('a follower of the other server is back', async () => (await newcomer.read()) === 200)
  expect(newcomer.orders).toEqual(['first', 'next'])
}, 60_000)
