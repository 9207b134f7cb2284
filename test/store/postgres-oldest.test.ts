import { readFileSync } from 'node:fs'
import { afterAll, describe, expect, it } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'
import { newDatabase, runSql, startOldestPostgres } from '../support/postgres/postgres-server.ts'
import { describeArrivals } from './conformance/arrivals.ts'
import { describeDeliveries } from './conformance/deliveries.ts'
import { describeErasures } from './conformance/erasures.ts'
import { describeFeed } from './conformance/feed.ts'
import { describeHealth } from './conformance/health.ts'
import { closeStores, type Open } from './conformance/promises.ts'
import { describePurges } from './conformance/purges.ts'
import { describeRollUps } from './conformance/roll-ups.ts'
import { describeWebhookProgress } from './conformance/webhook-progress.ts'

const postgres = await startOldestPostgres()
if (postgres === undefined) console.info('skipped: there is no PostgreSQL 14 for this machine')

/** What needs a connection of its own. pgbouncer.test.ts has all that an adapter must do, on the same version, where PgBouncer is installed. */
describe.skipIf(postgres === undefined)('PostgreSQL 14', () => {
  afterAll(() => postgres?.remove())
  const url = postgres?.url ?? ''
  const openEmpty = (): Open => {
    const created = newDatabase(url)
    return async () => {
      const { config } = loadConfig({ DATABASE_URL: await created, TESLIM_DATABASE_TIMEOUT: '10' })
      return (await openStore(config, 0)).store
    }
  }
  afterAll(closeStores)
  const open = openEmpty()
  for (const capability of [
    describeDeliveries,
    describeArrivals,
    describeFeed,
    describeErasures,
    describeRollUps,
    describeWebhookProgress,
    describeHealth,
  ])
    capability('directly', open)
  describePurges('directly', openEmpty())

  it('can be partitioned by month, by a script that says so', async () => {
    const database = await newDatabase(url)
    await (await openStore(loadConfig({ DATABASE_URL: database }).config, 0)).store.close()
    for (const name of ['service-role', 'partition-by-month'])
      await runSql(database, readFileSync(new URL(`../../deploy/postgres/${name}.sql`, import.meta.url), 'utf8'))
    expect((await runSql(database, `SELECT FROM pg_inherits WHERE inhparent = 'delivery'::regclass`)).length).toBe(25)
  })
})
