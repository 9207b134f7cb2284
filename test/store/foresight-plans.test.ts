import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import pg from 'pg'
import { afterAll, expect, inject, it } from 'vitest'
import { foresee as foreseeInPostgres } from '#src/store/postgres/deliveries/foresight.ts'
import { openDatabase } from '#src/store/sqlite/database.ts'
import { foresee as foreseeInSqlite } from '#src/store/sqlite/deliveries/foresight.ts'
import { createStoreWith } from '../support/create-store.ts'
import { newDatabase, runSql } from '../support/postgres-server.ts'
import { customer, delivery } from '../support/store-rows.ts'
import { tempFolder } from '../support/temp-folder.ts'

const one = customer()
const customers = [one, ...Array.from({ length: 50 }, () => customer())]
const wanted = delivery(one.id, { orderId: 'order-500', idempotency: { key: 'key-700', notBefore: 0 } })

const FILL = (numbers: string, receipt: string, payload: string, digest: string) => `
  INSERT INTO delivery (position, receipt, customer, order_id, status, received_at, payload)
  SELECT n, ${receipt}, 1, 'order-' || n, 1, n, ${payload} FROM ${numbers};
  INSERT INTO order_state (customer, order_id, status, state_position, latest_position, digest)
  SELECT 1, 'order-' || n, 1, n, n, ${digest} FROM ${numbers};
  INSERT INTO idempotency (customer, key, position, kept_at) SELECT 1, 'key-' || n, n, n FROM ${numbers}`

it('SQLite foresees a delivery by indexes, whether or not it has statistics', async () => {
  const path = join(tempFolder(), 'plans.db')
  await createStoreWith(`sqlite:${path}`, customers)
  const raw = new DatabaseSync(path)
  raw.exec(
    'CREATE TEMP TABLE numbers AS WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < 20000) SELECT n FROM r',
  )
  raw.exec(FILL('numbers', "unhex(printf('%032x', n))", 'zeroblob(300)', "x'00'"))
  for (const statistics of [false, true]) {
    if (statistics) raw.exec('ANALYZE')
    const database = openDatabase(path, { readOnly: true })
    const steps: string[] = []
    const get: typeof database.get = (sql, ...values) => {
      steps.push(...database.all(`EXPLAIN QUERY PLAN ${sql}`, ...values).map(({ detail }) => String(detail)))
      return database.get(sql, ...values)
    }
    expect(() => foreseeInSqlite({ ...database, get }, wanted)).toThrow('another body')
    database.close()
    expect(steps.filter((step) => step.startsWith('SEARCH')).length).toBeGreaterThan(5)
    expect(steps.filter((step) => /^SCAN (?!r\b|CONSTANT)/.test(step))).toEqual([])
  }
  raw.close()
})

it('PostgreSQL foresees a delivery by indexes, whether or not it has statistics', async () => {
  const databaseUrl = await newDatabase(inject('postgresUrl'))
  await createStoreWith(databaseUrl, customers)
  const receipt = "lpad(to_hex(n), 32, '0')::uuid"
  const payload = "decode(repeat('00', 300), 'hex')"
  await runSql(databaseUrl, FILL('generate_series(1, 20000) n', receipt, payload, "'\\x00'::bytea"))
  const psql = new pg.Client(databaseUrl)
  await psql.connect()
  afterAll(() => psql.end())
  for (const statistics of [false, true]) {
    if (statistics) await psql.query('ANALYZE')
    for (const mode of ['force_generic_plan', 'force_custom_plan']) {
      await psql.query(`SET plan_cache_mode = ${mode}`)
      const query: Parameters<typeof foreseeInPostgres>[0] = async (sql, ...values) => {
        await psql.query(`PREPARE foresight AS ${sql}`)
        const list = values.map((value) =>
          Buffer.isBuffer(value) ? `'\\x${value.toString('hex')}'` : pg.escapeLiteral(String(value)),
        )
        const { rows } = await psql.query(`EXPLAIN EXECUTE foresight (${list.join(', ')})`)
        await psql.query('DEALLOCATE foresight')
        const plan = rows.map((row) => String(row['QUERY PLAN'])).join('\n')
        expect(plan).not.toMatch(/Seq Scan on (delivery|order_state|idempotency)/)
        expect(plan).toMatch(/Index (Only )?Scan using \w+ on idempotency/)
        return { rows: [{ erased: false, receipt: null }], count: 1 }
      }
      expect(await foreseeInPostgres(query, wanted)).toBeUndefined()
    }
  }
})
