import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { afterAll, expect, inject, it } from 'vitest'
import { openStore } from '#src/store/open-store.ts'
import { postgresApiKeys } from '#src/store/postgres/api-keys.ts'
import { createCustomerNumbers, postgresCustomers } from '#src/store/postgres/customers.ts'
import { openDatabase as openPostgres, type Query } from '#src/store/postgres/database.ts'
import { apiKeyReads } from '#src/store/sqlite/api-keys.ts'
import { customerReads } from '#src/store/sqlite/customers.ts'
import { openDatabase } from '#src/store/sqlite/database.ts'
import { bindOperations } from '#src/store/sqlite/thread/operations.ts'
import type { ApiKeyStore, CustomerStore } from '#src/store/store.ts'
import { newDatabase, runSql } from '../support/postgres-server.ts'
import { tempFolder } from '../support/temp-folder.ts'

const limits = {
  queueDeliveries: 10,
  queueBytes: 1e6,
  databasePool: 2,
  requestTimeoutSeconds: 15,
  databaseTimeoutSeconds: 5,
}

/** 20,000 customers, with two API keys each. */
const FILL = (numbers: string, id: string, hash: (text: string) => string, yes: string, no: string) => `
  INSERT INTO customer (id, email, password_hash, is_api, operator, read_only, enabled, token_generation, created_at)
  SELECT ${id}, 'customer-' || n || '@example.com', 'h', ${yes}, ${no}, ${no}, ${yes}, '', n FROM ${numbers};
  INSERT INTO customer_region (customer, region) SELECT number, 'TR' FROM customer;
  INSERT INTO authority_rule (customer, rule) SELECT number, 'SKU-*' FROM customer;
  INSERT INTO api_key (id, customer, hash, label, created_at) SELECT id || 'a', number, ${hash('id')}, 'erp', 1 FROM customer;
  INSERT INTO api_key (id, customer, hash, label, created_at, expires_at)
  SELECT id || 'b', number, ${hash("id || 'b'")}, '', 1, 150 FROM customer;
  INSERT INTO api_key_use (key_id, used_at, address) SELECT id, 7, '::1' FROM api_key`

const MIDDLE = 'c-10000'
const LOOK = 500
const PAGE = 101

/** What GET /Operator/customers and GET /Operator/customer/ID ask for. */
async function readEveryWay(
  customers: Pick<CustomerStore, 'search' | 'findMany'>,
  keys: Pick<ApiKeyStore, 'summaries'>,
) {
  const pages = []
  for (const after of ['', MIDDLE]) {
    for (const filter of [{}, { text: 'nobody' }, { text: 'customer' }, { operator: true }, { removed: true }])
      pages.push(await customers.search(filter, after, { most: PAGE, look: LOOK }))
  }
  const ids = pages[0]?.customers.map(({ id }) => id) ?? []
  expect(ids).toHaveLength(PAGE)
  expect(await customers.findMany(ids)).toHaveLength(PAGE)
  expect(await keys.summaries(ids, { now: 100, soon: 200 })).toHaveLength(PAGE)
}

async function prepare(databaseUrl: string): Promise<void> {
  const { store } = await openStore({ databaseUrl, ...limits }, 0)
  await store.close()
}

it('SQLite finds customers and their keys by an index, whether or not it has statistics', async () => {
  const path = join(tempFolder(), 'plans.db')
  await prepare(`sqlite:${path}`)
  const raw = new DatabaseSync(path)
  raw.exec(
    'CREATE TEMP TABLE numbers AS WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 20000) SELECT n FROM r',
  )
  raw.exec(FILL('numbers', "printf('c-%05d', n)", () => 'randomblob(32)', '1', '0'))
  for (const statistics of [false, true]) {
    if (statistics) raw.exec('ANALYZE')
    const database = openDatabase(path, { readOnly: true })
    const steps = new Set<string>()
    const explained =
      (name: 'all' | 'get') =>
      (sql: string, ...values: never[]) => {
        for (const { detail } of database.all(`EXPLAIN QUERY PLAN ${sql}`, ...values)) steps.add(String(detail))
        return database[name](sql, ...values)
      }
    const reading = { ...database, all: explained('all'), get: explained('get') } as typeof database
    await readEveryWay(bindOperations(customerReads, reading) as never, bindOperations(apiKeyReads, reading) as never)
    database.close()
    expect([...steps].filter((step) => /^SCAN (?!json_each|key$|\(subquery)/.test(step))).toEqual([])
    expect(
      [...steps].filter((step) => /AUTOMATIC|TEMP B-TREE(?! FOR (?:GROUP BY|json_group_array))/.test(step)),
    ).toEqual([])
    expect([...steps].filter((step) => step.startsWith('SEARCH c '))).not.toEqual([])
  }
  raw.close()
})

interface PlanNode {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: PlanNode[]
}

const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

const literal = (value: unknown): string => {
  if (value === null) return 'NULL'
  if (Array.isArray(value)) return `ARRAY[${value.map(literal).join(', ')}]`
  return typeof value === 'string' ? pg.escapeLiteral(value) : String(value)
}

it('PostgreSQL finds customers and their keys by an index, and touches no more rows than it may look at', {
  timeout: 120_000,
}, async () => {
  const databaseUrl = await newDatabase(inject('postgresUrl'))
  await prepare(databaseUrl)
  const hash = (text: string) => `sha256((${text})::bytea)`
  await runSql(databaseUrl, FILL('generate_series(1, 20000) n', "'c-' || lpad(n::text, 5, '0')", hash, 'true', 'false'))
  const database = await openPostgres({ url: databaseUrl, connections: 2, timeoutSeconds: 30 })
  afterAll(database.close)
  const psql = new pg.Client(databaseUrl)
  await psql.connect()
  afterAll(() => psql.end())
  const prepared = new Map<string, string>()
  for (const statistics of [false, true]) {
    if (statistics) await runSql(databaseUrl, 'ANALYZE')
    const query: Query = async (sql, ...values) => {
      const name = prepared.get(sql) ?? `statement_${prepared.size}`
      if (!prepared.has(sql)) await psql.query(`PREPARE ${name} AS ${sql}`)
      prepared.set(sql, name)
      const execute = `EXECUTE ${name} (${values.map(literal).join(', ')})`
      const nodes: PlanNode[] = []
      // As sessions have it, and behind a pooler.
      for (const mode of ['force_generic_plan', 'force_custom_plan']) {
        await psql.query(`SET plan_cache_mode = ${mode}`)
        const { rows } = await psql.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${execute}`)
        for (const row of rows)
          nodes.push(...(row['QUERY PLAN'] as { Plan: PlanNode }[]).flatMap(({ Plan }) => nodesOf(Plan)))
      }
      for (const node of nodes.filter((each) => each['Relation Name'] !== undefined)) {
        expect([statistics, sql, node['Relation Name'], node['Node Type']]).toEqual([
          statistics,
          sql,
          node['Relation Name'],
          expect.stringMatching(/^(Index|Bitmap Heap)/),
        ])
        const touched = Math.round((node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'])
        expect([sql, touched <= LOOK]).toEqual([sql, true])
      }
      return database.query(sql, ...values)
    }
    const explained = { ...database, query }
    await readEveryWay(postgresCustomers(explained), postgresApiKeys(explained, createCustomerNumbers(query)))
  }
})
