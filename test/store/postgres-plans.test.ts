import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'
import type { Store } from '#src/store/store.ts'
import { AS_BEHIND_A_POOLER, startExplainingPostgres } from '../support/postgres/postgres-plans.ts'
import { newDatabase, runSql } from '../support/postgres/postgres-server.ts'
import { createStoreWith } from '../support/store/create-store.ts'
import { fillAccounts, fillAll, MANY_CUSTOMERS, POSTGRES } from './plans/filled.ts'
import { ALL_PARTS, SOME, type Use, useAccounts, watched } from './plans/uses.ts'

const explaining = await startExplainingPostgres()
const { url } = explaining.server

async function filledWith(sql: string): Promise<string> {
  const database = await newDatabase(url)
  await createStoreWith(database, [])
  await runSql(database, sql)
  return database
}

const filled = await filledWith(fillAll(POSTGRES))
const withAccounts = await filledWith(fillAccounts(POSTGRES, MANY_CUSTOMERS))

let copies = 0

async function copyOf(database: string): Promise<string> {
  const copy = new URL(database)
  copy.pathname = `${copy.pathname}_copy_${copies++}`
  const template = new URL(database).pathname.slice(1)
  await runSql(url, `CREATE DATABASE ${copy.pathname.slice(1)} TEMPLATE ${template} STRATEGY file_copy`)
  return copy.href
}

async function analyzed(database: string): Promise<string> {
  const copy = await copyOf(database)
  await runSql(copy, 'ANALYZE')
  return copy
}

/** Added beside deliveries, whatever is called meanwhile: one block of 4,096 at a time. */
const BLOCK = 'INSERT INTO delivery_block'

const MONTHS = readFileSync(new URL('../../deploy/postgres/partition-by-month.sql', import.meta.url), 'utf8')

/** As in tables of millions, where workers tempt. Plans count on them, but their processes are not started. */
const WORKERS = ['parallel_setup_cost', 'parallel_tuple_cost', 'min_parallel_table_scan_size', 'max_parallel_workers']

/** There sessions are not ours to configure, and may use workers. */
const POOLED = 'behind a pooler'

const SETTINGS: Readonly<Record<string, (name: string) => readonly string[]>> = {
  'as the planner sees them': () => [],
  'in partitions by month': () => [MONTHS],
  [POOLED]: () => [AS_BEHIND_A_POOLER],
  'as if there were a hundred times as many deliveries, which no memory holds': (name) => [
    `ALTER DATABASE ${name} SET effective_cache_size = '32MB'`,
    "UPDATE pg_class SET reltuples = 30000000, relpages = pg_relation_size(oid) / 8192 WHERE relname = 'delivery'",
  ],
  'where workers cost nothing': (name) => WORKERS.map((setting) => `ALTER DATABASE ${name} SET ${setting} = 0`),
}

/** Also that no session of ours starts processes for a page. Resolves to the methods of the port that were not used. */
async function expectFewRows(
  database: string,
  parts: readonly ((store: Store, use: Use) => Promise<void>)[],
  isPooled: boolean,
) {
  const limits: number[] = []
  const { during, executed } = await explaining.watch(database)
  const use: Use = (most, work) => during(`${limits.push(most)} ${work}`, work)
  const { config } = loadConfig({ DATABASE_URL: database, TESLIM_DATABASE_TIMEOUT: '30' })
  const { store } = await use(SOME, () => openStore(config, 0, { toServe: true }))
  const { watchedStore, unused } = watched(store)
  for (const part of parts) await part(watchedStore, use)
  const all = await executed()
  await store.close()
  expect(all.length).toBeGreaterThan(limits.length)
  const wasteful = all.filter(
    ([call, { sql, rows }]) => rows > Number(limits[Number.parseInt(call, 10) - 1]) && !sql.includes(BLOCK),
  )
  if (!isPooled) expect(all.filter(([, { plan }]) => plan.includes('Gather')).map(([, { plan }]) => plan)).toEqual([])
  expect(wasteful.map(([call, { rows, sql, plan }]) => `${rows} rows in call ${call}:\n${sql}\n${plan}`)).toEqual([])
  return [...unused]
}

describe.each([
  ['without statistics', false],
  ['with statistics', true],
])('%s', async (_, statistics) => {
  const [everything, accounts] = statistics
    ? [await analyzed(filled), await analyzed(withAccounts)]
    : [filled, withAccounts]
  describe.each(Object.entries(SETTINGS))('%s', (_, settings) => {
    const isPooled = settings === SETTINGS[POOLED]

    const prepared = async (database: string): Promise<string> => {
      const copy = await copyOf(database)
      for (const setting of settings(new URL(copy).pathname.slice(1))) {
        await runSql(copy, setting)
        if (statistics && setting === MONTHS) await runSql(copy, 'ANALYZE')
      }
      return copy
    }

    it('no statement of the port looks at more rows than its call needs', async () => {
      expect(await expectFewRows(await prepared(everything), ALL_PARTS, isPooled)).toEqual([
        'deliveries.drained',
        'close',
      ])
    }, 120_000)

    it('no statement of accounts does among 20,000 customers', async () => {
      expect(await expectFewRows(await prepared(accounts), [useAccounts], isPooled)).not.toEqual([])
    }, 120_000)
  })
})
