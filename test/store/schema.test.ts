import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { beforeAll, describe, expect, inject, it } from 'vitest'
import { newDatabase, runSql } from '../support/postgres/postgres-server.ts'
import { newPostgresStore, session } from '../support/postgres/postgres-session.ts'
import { createStoreWith } from '../support/store/create-store.ts'
import { factsOfPostgres, factsOfSqlite } from '../support/store/schema-facts.ts'
import { writtenPostgres, writtenSqlite } from '../support/store/written-schema.ts'
import { tempFolder } from '../support/temp-folder.ts'

const STORE = join(import.meta.dirname, '../../src/store')

let url: string
let database: DatabaseSync

beforeAll(async () => {
  url = await newDatabase(inject('postgresUrl'))
  await createStoreWith(url, [])
  const path = join(tempFolder(), 'schema.db')
  await createStoreWith(`sqlite:${path}`, [])
  database = new DatabaseSync(path, { readOnly: true })
  return () => database.close()
})

describe('schema.sql has what the migrations make', () => {
  it('in SQLite', async () => {
    await expect(writtenSqlite(database), 'run npm run schema').toMatchFileSnapshot(join(STORE, 'sqlite/schema.sql'))
  })

  it('in PostgreSQL', async () => {
    const written = await writtenPostgres(url)
    await expect(written, 'run npm run schema').toMatchFileSnapshot(join(STORE, 'postgres/schema.sql'))
  })

  it('with each column in a line, also one that a migration adds to a table of SQLite', () => {
    using added = new DatabaseSync(':memory:')
    added.exec('CREATE TABLE one (\n  a TEXT, -- the first\n  b TEXT -- the last\n) STRICT')
    added.exec('ALTER TABLE one ADD COLUMN c INTEGER NOT NULL DEFAULT 0; ALTER TABLE one ADD COLUMN d BLOB')
    expect(writtenSqlite(added)).toContain(
      '(\n  a TEXT, -- the first\n  b TEXT, -- the last\n  c INTEGER NOT NULL DEFAULT 0,\n  d BLOB\n) STRICT;',
    )
  })

  it.each([
    ['view', 'CREATE VIEW late AS SELECT 1'],
    ['type', `CREATE TYPE late AS ENUM ('a')`],
    ['aggregate', 'CREATE AGGREGATE late(integer) (SFUNC = int4pl, STYPE = integer)'],
    ['policy', 'CREATE POLICY late ON customer'],
    ['rule', 'CREATE RULE late AS ON DELETE TO customer DO INSTEAD NOTHING'],
  ])('and nothing that it does not know how to write: %s', async (kind, sql) => {
    const other = await newPostgresStore()
    await runSql(other, sql)
    await expect(writtenPostgres(other)).rejects.toThrow(`nothing writes ${kind}`)
  })
})

it('both databases have the same columns, keys, checks, indexes and first rows, but for those named here', async () => {
  const [sqlite, postgres] = [factsOfSqlite(database), await factsOfPostgres(url)]
  expect([...sqlite.difference(postgres)].toSorted()).toEqual([
    'delivery PRIMARY KEY (position)',
    'delivery UNIQUE INDEX delivery_receipt (receipt)',
    'idempotency PRIMARY KEY (number)',
    'idempotency UNIQUE (customer, key)',
    'idempotency.number INTEGER NOT NULL',
    'moved.at INTEGER NOT NULL',
    'moved.target TEXT NOT NULL',
  ])
  expect([...postgres.difference(sqlite)].toSorted()).toEqual([
    'customer TRIGGER customer_erased',
    // NULL or true, which is 1 in SQLite.
    'delivery CHECK (erased IN (0, 1))',
    'delivery INDEX delivery_position (position)',
    'delivery PRIMARY KEY (receipt)',
    'erased_customer PRIMARY KEY (customer)',
    'erased_customer.customer INTEGER NOT NULL',
    'history PRIMARY KEY (resumed_after)',
    'history ROW ',
    'history.began_at INTEGER NOT NULL',
    'history.last_position INTEGER NOT NULL',
    'history.resumed_after INTEGER NOT NULL',
    'history.timeline INTEGER',
    'idempotency INDEX idempotency_kept_at (kept_at)',
    'idempotency PRIMARY KEY (customer, key)',
    'webhook_progress.holder TEXT',
    'webhook_progress.leased_at INTEGER',
    'webhook_progress.leased_until INTEGER',
    'webhook_progress.timeline INTEGER',
  ])
})

/** Of functions by their names, without the search path, which is that of the schema. */
const DEFINITIONS = `
  SELECT p.proname AS name, replace(regexp_replace(pg_get_functiondef(p.oid), E'\\n SET search_path TO [^\\n]*', ''), n.nspname || '.', '') AS text
    FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = $1`

const stemOf = (name: string): string => name.replace(/_\d+$/, '')
const numberOf = (name: string): number => Number(/\d+$/.exec(name)?.[0])

it('functions/ has the functions that the migrations leave: of each name that with the highest number, which is the one that is called', async () => {
  const client = await session(url)
  const definitions = async (schema: string): Promise<Map<string, string>> =>
    new Map((await client.query(DEFINITIONS, [schema])).rows.map(({ name, text }) => [name, text]))
  const made = await definitions('public')
  await client.query('BEGIN; CREATE SCHEMA today; SET LOCAL search_path = today, public')
  for (const file of globSync(join(STORE, 'postgres/functions/*.sql'))) await client.query(readFileSync(file, 'utf8'))
  const today = await definitions('today')
  await client.query('ROLLBACK')
  const stems = Map.groupBy(made.keys(), stemOf)
  const latest = Array.from(
    stems.values(),
    (names) => names.toSorted((one, other) => numberOf(other) - numberOf(one))[0],
  )
  expect(new Set(today.keys())).toEqual(new Set(latest))
  for (const [name, text] of today) expect(text, name).toBe(made.get(name))

  const sources = globSync('{src,test/support}/**/*.ts').map((file) => readFileSync(file, 'utf8'))
  const called = sources.flatMap((source) => Array.from(source.matchAll(/\b[a-z_]+_\d+(?=\()/g), ([name]) => name))
  const ours = called.filter((name) => stems.has(stemOf(name)))
  expect(ours.length).toBeGreaterThan(5)
  expect(ours.filter((name) => !today.has(name))).toEqual([])
})

it('each table of PostgreSQL has a primary key, and its indexes compare texts by their bytes, as SQLite does', async () => {
  const unkeyed = `SELECT relname FROM pg_class c WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
    AND NOT EXISTS (SELECT FROM pg_index WHERE indrelid = c.oid AND indisprimary)`
  expect(await runSql(url, unkeyed)).toEqual([])
  const otherwise = `SELECT i.indexrelid::regclass::text AS index, a.attname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
    JOIN pg_attribute a ON a.attrelid = c.oid
   WHERE c.relnamespace = 'public'::regnamespace AND a.attcollation NOT IN (0, '"C"'::regcollation)`
  expect(await runSql(url, otherwise)).toEqual([])
})

it('each function of PostgreSQL with the rights of its owner is safe to run', async () => {
  const unsafe = `SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prosecdef
    AND (has_function_privilege('public', oid, 'EXECUTE') OR NOT coalesce('search_path=public, pg_temp' = ANY (proconfig), false))`
  expect(await runSql(url, unsafe)).toEqual([])
})

it('each table that SQLite gets from a migration is strict', () => {
  const loose = `SELECT name FROM pragma_table_list WHERE type = 'table' AND NOT strict AND name NOT LIKE 'sqlite_%'
    AND name <> 'schema_migration'`
  expect(database.prepare(loose).all()).toEqual([])
})
