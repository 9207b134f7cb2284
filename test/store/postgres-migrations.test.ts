import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, expect, inject, it } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
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

/** The migrations of this version, and later ones. */
function withLater(...later: readonly string[]): URL {
  const folder = tempFolder()
  const store = fileURLToPath(new URL('../../src/store/', import.meta.url))
  for (const part of ['postgres/functions', 'postgres/migrations', 'sql/tables.sql'])
    cpSync(join(store, part), join(folder, part), { recursive: true })
  const migrations = join(folder, 'postgres/migrations/')
  for (const [index, sql] of later.entries()) writeFileSync(join(migrations, `000${index + 2}-later.sql`), sql)
  return pathToFileURL(migrations)
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
  expect(applied).toEqual([{ number: 1 }, { number: 2 }])
  await reader.query('COMMIT')
  expect((await open(url, later)).migrated).toEqual(['0003-later'])
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

it('a migration may include a file that lies beside the others', async () => {
  const folder = tempFolder()
  mkdirSync(join(folder, 'migrations'))
  writeFileSync(join(folder, 'migrations/0001-one.sql'), 'CREATE TABLE one ();\n\\ir ../two.sql\n')
  writeFileSync(join(folder, 'two.sql'), 'CREATE TABLE two ();')
  const url = await newDatabase(inject('postgresUrl'))
  expect((await open(url, pathToFileURL(join(folder, 'migrations/')))).migrated).toEqual(['0001-one'])
  expect(await runSql(url, `SELECT FROM two`)).toEqual([])
})
