import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, expect, inject, it } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { readMigrations } from '#src/store/migrate.ts'
import { limitsOf } from '#src/store/open-store.ts'
import { openPostgresStore } from '#src/store/postgres/postgres-store.ts'
import { newDatabase, runSql } from '../support/postgres/postgres-server.ts'
import { session } from '../support/postgres/postgres-session.ts'
import { tempFolder } from '../support/temp-folder.ts'

const { config } = loadConfig({})

async function open(url: string, migrations?: URL) {
  const options = { url, connections: 5, timeoutSeconds: 10, now: 0, limits: limitsOf(config) }
  const opened = await openPostgresStore({ ...options, ...(migrations && { migrations }) })
  afterAll(() => opened.store.close())
  return opened
}

const FOLDER = new URL('../../src/store/postgres/migrations/', import.meta.url)
const KNOWN = readMigrations(FOLDER).length
const laterName = (index: number): string => `${String(KNOWN + 1 + index).padStart(4, '0')}-later`

/** The migrations of this version, and later ones. */
function withLater(...later: readonly string[]): URL {
  const folder = tempFolder()
  cpSync(FOLDER, folder, { recursive: true })
  for (const [index, sql] of later.entries()) writeFileSync(join(folder, `${laterName(index)}.sql`), sql)
  return pathToFileURL(`${folder}/`)
}

it('a migration that waits for a table holds no lock of another one: deliveries go on, and it gives up soon', async () => {
  const url = await newDatabase(inject('postgresUrl'))
  await open(url)
  const later = withLater(
    'ALTER TABLE delivery ADD COLUMN later integer',
    `SET LOCAL lock_timeout = '1s'; ALTER TABLE audit_event ADD COLUMN later integer`,
  )
  const reader = await session(url)
  await reader.query('BEGIN; SELECT FROM audit_event')
  await expect(open(url, later)).rejects.toThrow()
  const applied = await runSql(url, 'SELECT number FROM schema_migration ORDER BY number')
  expect(applied).toHaveLength(KNOWN + 1)
  await reader.query('COMMIT')
  expect((await open(url, later)).migrated).toEqual([laterName(1)])
})

it('a new database gets all migrations or none', async () => {
  const url = await newDatabase(inject('postgresUrl'))
  const later = withLater('CREATE TABLE later ()')
  await runSql(url, 'CREATE TABLE later ()')
  await expect(open(url, later)).rejects.toThrow()
  expect(await runSql(url, `SELECT to_regclass('schema_migration') AS made`)).toEqual([{ made: null }])
  await runSql(url, 'DROP TABLE later')
  expect((await open(url, later)).created).toBe(true)
})

it('a migration may make a function whose body has $1, among other statements', async () => {
  const url = await newDatabase(inject('postgresUrl'))
  const twice = `CREATE FUNCTION twice(integer) RETURNS integer LANGUAGE sql AS 'SELECT 2 * $1'`
  const migrations = withLater(`${twice};\nCREATE TABLE later AS SELECT twice(21) AS made`)
  await open(url, migrations)
  expect(await runSql(url, 'SELECT made FROM later')).toEqual([{ made: 42 }])
})
