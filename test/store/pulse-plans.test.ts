import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { afterAll, expect, inject, it } from 'vitest'
import { openStore } from '#src/store/open-store.ts'
import type { Query } from '#src/store/postgres/database.ts'
import { pulseReads as postgresPulses } from '#src/store/postgres/deliveries/pulse.ts'
import { openDatabase } from '#src/store/sqlite/database.ts'
import { pulseReads as sqlitePulses } from '#src/store/sqlite/deliveries/pulse.ts'
import { bindOperations } from '#src/store/sqlite/thread/operations.ts'
import { newDatabase, runSql } from '../support/postgres-server.ts'
import { customer } from '../support/store-rows.ts'
import { tempFolder } from '../support/temp-folder.ts'

const LAST = 100_000
const bounds = { from: (LAST - 5000) * 1000, look: 2000, newest: 200 }
/** The first is that of a console that opens, the second that of every second. */
const PULSES = [undefined, LAST - 1500]

const limits = {
  queueDeliveries: 10,
  queueBytes: 1e6,
  databasePool: 2,
  requestTimeoutSeconds: 15,
  databaseTimeoutSeconds: 5,
}

async function prepare(databaseUrl: string): Promise<void> {
  const { store } = await openStore({ databaseUrl, ...limits }, 0)
  await store.customers.insert(customer())
  await store.close()
}

/** One delivery a second. */
const FILL = (numbers: string, receipt: string, payload: string) => `
  INSERT INTO delivery (position, receipt, customer, status, received_at, payload)
  SELECT n, ${receipt}, 1, n % 4, n * 1000, ${payload} FROM ${numbers}`

it('SQLite reads a pulse by indexes, whether or not it has statistics', async () => {
  const path = join(tempFolder(), 'pulse.db')
  await prepare(`sqlite:${path}`)
  const raw = new DatabaseSync(path)
  raw.exec(
    `CREATE TEMP TABLE numbers AS WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < ${LAST}) SELECT n FROM r`,
  )
  raw.exec(FILL('numbers', "unhex(printf('%012x%020x', n * 1000, n))", 'zeroblob(300)'))
  for (const statistics of [false, true]) {
    if (statistics) raw.exec('ANALYZE')
    const database = openDatabase(path, { readOnly: true })
    const steps = new Set<string>()
    const all: typeof database.all = (sql, ...values) => {
      for (const { detail } of database.all(`EXPLAIN QUERY PLAN ${sql}`, ...values)) steps.add(String(detail))
      return database.all(sql, ...values)
    }
    const { pulse } = bindOperations(sqlitePulses, { ...database, all })
    for (const after of PULSES) expect(pulse(after, bounds).newest).toHaveLength(bounds.newest)
    database.close()
    expect([...steps].sort().filter((step) => / (?:d|delivery) /.test(step))).toEqual([
      'SEARCH d USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)',
      'SEARCH delivery USING INDEX delivery_receipt (receipt>?)',
      'SEARCH delivery USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)',
    ])
  }
  raw.close()
})

it('PostgreSQL reads a pulse by indexes, whether or not it has statistics', async () => {
  const databaseUrl = await newDatabase(inject('postgresUrl'))
  await prepare(databaseUrl)
  const receipt = "(lpad(to_hex(n::bigint * 1000), 12, '0') || lpad(to_hex(n), 20, '0'))::uuid"
  const numbers = `generate_series(1, ${LAST}) n`
  await runSql(
    databaseUrl,
    FILL(numbers, receipt, "decode(repeat('00', 300), 'hex')").replace('n * 1000', 'n::bigint * 1000'),
  )
  const psql = new pg.Client(databaseUrl)
  await psql.connect()
  afterAll(() => psql.end())
  for (const statistics of [false, true]) {
    if (statistics) await psql.query('ANALYZE')
    for (const mode of ['force_generic_plan', 'force_custom_plan']) {
      await psql.query(`SET plan_cache_mode = ${mode}`)
      const query: Query = async (sql, ...values) => {
        await psql.query(`PREPARE pulse AS ${sql}`)
        const given = values.map((value) => (value === null ? 'NULL' : pg.escapeLiteral(String(value)))).join()
        const execute = `EXECUTE pulse ${given && `(${given})`}`
        const plan = (await psql.query(`EXPLAIN ${execute}`)).rows.map((row) => String(row['QUERY PLAN'])).join('\n')
        const { rows } = await psql.query(execute)
        await psql.query('DEALLOCATE pulse')
        expect(plan).not.toContain('Seq Scan on delivery')
        if (sql.includes('receipt >=')) expect(plan).toContain('Index Scan Backward using delivery_receipt')
        return { rows: rows.map(numeric), count: rows.length }
      }
      const { pulse } = postgresPulses(query)
      for (const after of PULSES) {
        const { newest, deliveries } = await pulse(after, bounds)
        expect([newest.length, deliveries]).toEqual([bounds.newest, after === undefined ? bounds.look : LAST - after])
      }
    }
  }
})

/** The driver gives bigints as texts. */
const numeric = (row: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, /^\d+$/.test(String(value)) ? Number(value) : value]),
  )
