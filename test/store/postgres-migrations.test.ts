import pg from 'pg'
import { afterAll, expect, inject, it } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { readMigrations } from '#src/store/migrate.ts'
import { openStore } from '#src/store/open-store.ts'
import { newDatabase, runSql } from '../support/postgres-server.ts'

const open = async (databaseUrl: string) => {
  const opened = await openStore(loadConfig({ DATABASE_URL: databaseUrl, TESLIM_DATABASE_TIMEOUT: '10' }).config, 0)
  afterAll(() => opened.store.close())
  return opened
}

/** A database as the program left it whose last migration was 0010. */
async function earlierStore(): Promise<string> {
  const url = await newDatabase(inject('postgresUrl'))
  const earlier = readMigrations(new URL('../../src/store/postgres/migrations/', import.meta.url)).slice(0, 10)
  for (const { sql } of earlier) await runSql(url, sql)
  await runSql(
    url,
    `CREATE TABLE schema_migration AS SELECT 10 AS number, 'roll-ups' AS name, 0::bigint AS applied_at, 2 AS oldest`,
  )
  return url
}

it('a migration that waits for the audit log holds no lock of another one: deliveries go on, and it gives up soon', async () => {
  const url = await earlierStore()
  const reader = new pg.Client(url)
  await reader.connect()
  await reader.query('BEGIN; SELECT FROM audit_event')
  await expect(open(url)).rejects.toThrow()
  const applied = await runSql(url, 'SELECT number FROM schema_migration ORDER BY number')
  expect(applied.map(({ number }) => number)).toEqual([10, 11, 12])
  await reader.end()
  expect((await open(url)).migrated).toEqual(['0013-operator-reads', '0014-webhooks', '0015-deliveries-of-a-customer'])
})

it('a new database gets all migrations or none', async () => {
  const url = await newDatabase(inject('postgresUrl'))
  await runSql(url, 'CREATE TABLE block_customers ()')
  await expect(open(url)).rejects.toThrow()
  expect(await runSql(url, `SELECT to_regclass('schema_migration') AS made`)).toEqual([{ made: null }])
  await runSql(url, 'DROP TABLE block_customers')
  expect((await open(url)).created).toBe(true)
})
