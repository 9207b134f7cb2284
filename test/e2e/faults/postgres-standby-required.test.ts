import { expect, it, onTestFinished } from 'vitest'
import { ask } from '../../support/app/ask.ts'
import { fetch } from '../../support/app/checked-fetch.ts'
import { pgbouncer, startPgbouncer } from '../../support/postgres/pgbouncer.ts'
import { alterSystem, startPair, waitForStandby } from '../../support/postgres/postgres-faults.ts'
import { newDatabase, runSql } from '../../support/postgres/postgres-server.ts'
import { keyOfSupplier } from '../../support/processes/ledger.ts'
import { runPrepared } from '../../support/processes/prepared-commands.ts'
import { serve } from '../../support/processes/process.ts'
import { tempFolder } from '../../support/temp-folder.ts'
import { until } from '../../support/until.ts'

const { primary, standby } = await startPair()

async function served(standby: 'off' | 'required', pooled: boolean) {
  await waitForStandby(primary)
  onTestFinished(() => alterSystem(primary, 'RESET synchronous_standby_names'))
  const url = await newDatabase(primary.url)
  const where = { cwd: tempFolder(), env: { NODE_ENV: 'production', DATABASE_URL: url } }
  const key = await keyOfSupplier(where)
  const pooler = pooled ? await startPgbouncer(url) : undefined
  const env = { ...where.env, DATABASE_URL: pooler ?? url, TESLIM_DATABASE_STANDBY: standby }
  const server = await serve({ ...where, env })
  const deliver = async (order: string): Promise<number> => {
    const body = JSON.stringify({ OrderID: order, Status: 1 })
    const headers = { ApiKey: key, 'Idempotency-Key': order }
    return (await ask(`${server.url}/Purchase/update`, { method: 'POST', headers, body })).status
  }
  return { server, url, where: { ...where, env }, deliver }
}

/** Sends a delivery whose commit waits for the standby, and takes the name of the standby away meanwhile. */
async function deliverWhileNoneIsNamed(deliver: (order: string) => Promise<number>): Promise<number> {
  standby.freeze()
  try {
    const answer = deliver('waits')
    const waits = `SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'`
    await until('it waits', async () => (await runSql(primary.url, waits)).length > 0)
    await alterSystem(primary, 'RESET synchronous_standby_names')
    return await answer
  } finally {
    standby.thaw()
  }
}

it('with TESLIM_DATABASE_STANDBY=off, a commit is confirmed when somebody takes the name of its standby away', async () => {
  const { deliver } = await served('off', false)
  expect([await deliver('first'), await deliverWhileNoneIsNamed(deliver), await deliver('next')]).toEqual([
    200, 200, 200,
  ])
})

const ways = [{ pooled: false }, { pooled: true }].filter(({ pooled }) => !pooled || pgbouncer !== undefined)
if (pgbouncer === undefined) console.log('skipped: no pgbouncer is installed here, so nothing is required behind one')

it.each(ways)(
  'with TESLIM_DATABASE_STANDBY=required nothing is confirmed unless a standby is named before and after its commit (pooled: $pooled)',
  async ({ pooled }) => {
    const { server, url, where, deliver } = await served('required', pooled)
    const readiness = async () => fetch(`${server.url}/readyz`)
    expect(await deliver('first')).toBe(200)
    expect(await deliverWhileNoneIsNamed(deliver)).toBe(503)
    // From then on nothing is even stored.
    await until('all know it', async () => (await readiness()).status === 503)
    const stored = async () => (await runSql(url, 'SELECT order_id FROM delivery')).map(({ order_id }) => order_id)
    const before = await stored()
    expect(await deliver('after')).toBe(503)
    expect(await stored()).toEqual(before)
    expect(((await (await readiness()).json()) as { message: string }).message).toContain('TESLIM_DATABASE_STANDBY')
    await server.printed(/"reason":"TESLIM_DATABASE_STANDBY is required/)
    const { stdout } = await runPrepared(['doctor', '--json'], where)
    expect(stdout).toContain('TESLIM_DATABASE_STANDBY is required')

    await waitForStandby(primary)
    await until('it stores again', async () => (await deliver('after')) === 200)
    expect([await deliver('waits'), (await readiness()).status]).toEqual([200, 200])
    await alterSystem(primary, 'SET synchronous_commit = local')
    onTestFinished(() => alterSystem(primary, 'RESET synchronous_commit'))
    await until('a commit that does not wait is refused', async () => (await deliver('local')) === 503)
  },
  60_000,
)

it('doctor warns of standbys none of which is synchronous, and of nothing once one is', async () => {
  const url = await newDatabase(primary.url)
  const where = { cwd: tempFolder(), env: { NODE_ENV: 'production', DATABASE_URL: url } }
  await keyOfSupplier(where)
  const standbyCheck = async () => {
    const { stdout } = await runPrepared(['doctor', '--json'], where)
    const { checks } = JSON.parse(stdout) as { checks: { name: string; status: string; message: string }[] }
    return checks.find(({ name }) => name === 'standby')
  }
  expect(await standbyCheck()).toMatchObject({
    status: 'warning',
    message: expect.stringContaining('1 standby is connected'),
  })
  await waitForStandby(primary)
  onTestFinished(() => alterSystem(primary, 'RESET synchronous_standby_names'))
  expect(await standbyCheck()).toMatchObject({ status: 'ok' })
}, 60_000)
