import { expect, it } from 'vitest'
import { fetch } from '../../support/app/checked-fetch.ts'
import {
  missingFromPostgres,
  startPair,
  underLoad,
  urlOfAll,
  waitForStandby,
} from '../../support/postgres/postgres-faults.ts'
import { runSql } from '../../support/postgres/postgres-server.ts'

const { primary, standby } = await startPair()

it('what was acknowledged with a synchronous standby is there when that is promoted, though waits for it were cut short', async () => {
  await waitForStandby(primary)
  const both = urlOfAll(primary.url, standby.url)
  const { server, load, slowest } = await underLoad(both, { TESLIM_DATABASE_TIMEOUT: '2' })

  // Without its standby the primary waits. Whoever cuts that short makes it commit alone, and say that it has committed.
  await standby.stop('fast')
  const CUT_SHORT = `SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'`
  await expect.poll(() => runSql(primary.url, CUT_SHORT), { timeout: 5000 }).not.toEqual([])
  const acknowledged = load.acknowledged.length
  const end = performance.now() + 2000
  while (performance.now() < end) await runSql(primary.url, CUT_SHORT)
  expect(load.acknowledged.length - acknowledged).toBe(0)
  // Nobody cuts it short: the wait is ours, and ends.
  await expect.poll(() => fetch(`${server.url}/readyz`).then(({ status }) => status), { timeout: 10_000 }).toBe(503)
  await standby.start()
  await load.more(50)

  await primary.kill()
  await runSql(standby.url, 'SELECT pg_promote()')
  await load.more(50)
  await load.stop()
  expect([...load.others.keys()]).toEqual([503])
  expect(slowest()).toBeLessThan(10_000)
  expect(await missingFromPostgres(standby.url, load.acknowledged)).toEqual([])
}, 60_000)
