import { afterAll, expect, it } from 'vitest'
import { fetch } from '../../support/app/checked-fetch.ts'
import { missingFromPostgres, underLoad } from '../../support/postgres/postgres-faults.ts'
import { type PostgresServer, runSql, startPostgres } from '../../support/postgres/postgres-server.ts'

/** Far above what a refusal takes, and below what a client waits for. */
const BOUND_MILLISECONDS = 10_000

const postgres = await startPostgres()
afterAll(() => postgres.remove())
const { server, load, slowest } = await underLoad(postgres.url)
afterAll(() => load.stop())
const readiness = async () => (await fetch(`${server.url}/readyz`)).status

it.each<[string, (postgres: PostgresServer) => Promise<void>]>([
  ['restarted in order', ({ stop }) => stop('fast')],
  ['restarted at once', ({ stop }) => stop('immediate')],
  ['killed with all its processes in the middle of a batch', ({ kill }) => kill()],
  ['killed alone, its processes left behind,', ({ killPostmaster }) => killPostmaster()],
])('PostgreSQL %s loses nothing that was acknowledged, and is found again', async (_, end) => {
  await load.more(50)
  await end(postgres)
  await expect.poll(readiness, { timeout: 5000 }).toBe(503)
  expect((await fetch(`${server.url}/livez`)).status).toBe(200)
  await postgres.start()
  await load.more(50)
  expect(await readiness()).toBe(200)
  const acknowledged = [...load.acknowledged]
  expect(await missingFromPostgres(postgres.url, acknowledged)).toEqual([])
  expect([...load.others.keys()]).toEqual([503])
  expect(slowest()).toBeLessThan(BOUND_MILLISECONDS)
})

it('backends that are terminated again and again lose nothing that was acknowledged', async () => {
  const TERMINATE = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'teslim'`
  const refused = load.others.get(503) ?? 0
  const end = performance.now() + 1500
  while (performance.now() < end) await runSql(postgres.url, TERMINATE)
  expect(load.others.get(503)).toBeGreaterThan(refused)
  await load.more(50)
  expect([...load.others.keys()]).toEqual([503])
  expect(slowest()).toBeLessThan(BOUND_MILLISECONDS)
  const acknowledged = [...load.acknowledged]
  expect(await missingFromPostgres(postgres.url, acknowledged)).toEqual([])
})
