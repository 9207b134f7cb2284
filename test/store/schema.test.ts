import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, inject, it } from 'vitest'
import { readMigrations } from '#src/store/migrate.ts'
import { postgresCatalog, sqliteCatalog } from '../support/catalog.ts'
import { createStoreWith } from '../support/create-store.ts'
import { newDatabase, runSql } from '../support/postgres-server.ts'
import { tempFolder } from '../support/temp-folder.ts'

/** What a change of the migrations really changes shows in this file. `npx vitest run -u test/store/schema.test.ts` writes it. */
const file = (database: string) => join(import.meta.dirname, `../../src/store/${database}/schema.sql`)

it('schema.sql shows what a new embedded store consists of', async () => {
  const path = join(tempFolder(), 'teslim.db')
  await createStoreWith(`sqlite:${path}`, [])
  const database = new DatabaseSync(path, { readOnly: true })
  await expect(sqliteCatalog(database)).toMatchFileSnapshot(file('sqlite'))
  database.close()
})

it('schema.sql shows what a new store in PostgreSQL consists of', async () => {
  const url = await newDatabase(inject('postgresUrl'))
  await createStoreWith(url, [])
  await expect(await postgresCatalog(url)).toMatchFileSnapshot(file('postgres'))
  const unkeyed = `SELECT relname FROM pg_class c WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
    AND NOT EXISTS (SELECT FROM pg_index WHERE indrelid = c.oid AND indisprimary)`
  expect(await runSql(url, unkeyed)).toEqual([])
})

it('each function of PostgreSQL stands in one file, which one migration includes once', () => {
  const folder = join(file('postgres'), '../functions')
  const files = readdirSync(folder).map((name) => ({ name, sql: readFileSync(join(folder, name), 'utf8') }))
  const names = files.flatMap(({ sql }) => [...sql.matchAll(/^CREATE FUNCTION (\w+)/gm)].map(([, name]) => name))
  const shown = [...readFileSync(file('postgres'), 'utf8').matchAll(/^CREATE FUNCTION (\w+)/gm)].map(([, name]) => name)
  expect(new Set(names)).toEqual(new Set(shown))
  expect(names).toHaveLength(shown.length)
  const all = readMigrations(new URL('../../src/store/postgres/migrations/', import.meta.url)).map(({ sql }) => sql)
  for (const { name, sql } of files) expect(all.join().split(sql), name).toHaveLength(2)
})
