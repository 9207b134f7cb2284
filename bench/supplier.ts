import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { loadConfig } from '#src/config/load-config.ts'
import { createApiKeys } from '#src/customer/api-key.rule.ts'
import { createCustomers } from '#src/customer/customer.rule.ts'
import { systemClock } from '#src/lib/clock.ts'
import { systemRandom } from '#src/lib/random.ts'
import { passwords } from '#src/login/hashing.ts'
import { openStore } from '#src/store/open-store.ts'
import { BLOCK_SIZE } from '#src/store/sql/purges.ts'
import { listOf } from '#src/store/sqlite/deliveries/blocks.ts'
import { runSql } from '../test/support/postgres/postgres-server.ts'
import { customer } from '../test/support/store/store-rows.ts'
import { createGet } from './get.ts'
import type { BenchOptions } from './options.ts'
import { printTimes } from './read-times.ts'
import { say } from './report.ts'
import { syncDisk } from './server-process.ts'
import { countByHour, startTeslim } from './teslim-server.ts'

const SUPPLIERS = 1000
const PASSWORD = randomUUID()
const START = Date.parse('2026-08-01T00:00:00Z')

/** The first supplier has half of the deliveries, the second one 100 of 5 million, the others the rest. */
const [BIG, RARE, USUAL] = [0, 1, 2]

/** How long suppliers take to read what they delivered, one request at a time, with many deliveries of many suppliers stored. */
export async function benchSupplier(options: BenchOptions): Promise<void> {
  const { folder, databaseUrl, data, most, rounds, postgres } = options
  const { keys, email } = await addSuppliers(databaseUrl)
  if (postgres) await fillServer(databaseUrl, most)
  else fillFile(join(folder, 'teslim.db'), most)
  await countByHour(databaseUrl)
  await syncDisk()
  const teslim = await startTeslim(folder, databaseUrl)
  try {
    await measure(teslim.url, { keys, email, most, rounds, folder: data })
  } finally {
    await teslim.stop()
  }
}

async function addSuppliers(databaseUrl: string): Promise<{ keys: string[]; email: string }> {
  const { store } = await openStore(loadConfig({ DATABASE_URL: databaseUrl }).config, Date.now())
  const parts = { store, clock: systemClock, random: systemRandom }
  const customers = createCustomers({ ...parts, hashPassword: passwords.hash })
  const apiKeys = createApiKeys({ ...parts, customers })
  const email = 'big@example.com'
  const more = { isApi: true, regions: ['TR'], authority: ['*'] }
  const ids = [(await customers.add({ email, password: PASSWORD, ...more })).customer.id]
  while (ids.length < SUPPLIERS) {
    const one = customer({ id: randomUUID(), email: `${randomUUID()}@example.com` })
    await store.customers.insert(one)
    ids.push(one.id)
  }
  const keys: string[] = []
  for (const id of ids.slice(0, 3)) keys.push((await apiKeys.issue(id, 'bench')).key)
  await store.close()
  return { keys, email }
}

interface Dialect {
  readonly receipt: string
  readonly payload: string
  readonly digest: string
  readonly offsets: string
}

/** Two deliveries an order, of the big supplier and of the others in turn. Every 50,000th is of the rare one. */
function fillSql(numbers: string, { receipt, payload, digest, offsets }: Dialect): string[] {
  const rare = 'n % 50000 = 7'
  const whose = `CASE WHEN ${rare} THEN 2 WHEN (n / 2) % 2 = 0 THEN 1 ELSE 3 + ((n / 4) * 7919) % ${SUPPLIERS - 2} END`
  const order = `CASE WHEN ${rare} THEN 'R-' || n ELSE 'PO-' || (n / 2) END`
  return [
    `INSERT INTO delivery (position, receipt, customer, order_id, status, received_at, previous, payload)
     SELECT n, ${receipt}, ${whose}, ${order}, n % 3, ${START} + n * 1000, CASE WHEN n % 2 = 1 AND NOT ${rare} THEN n - 1 END, ${payload}
       FROM ${numbers}`,
    `INSERT INTO order_state (customer, order_id, status, state_position, latest_position, digest)
     SELECT ${whose}, ${order}, n % 3, n, n, ${digest} FROM ${numbers} WHERE n % 2 = 1 OR n % 50000 = 6 ORDER BY 1, 2`,
    `INSERT INTO delivery_block (block, customer, offsets)
     SELECT position / ${BLOCK_SIZE}, customer, ${offsets} FROM delivery
      WHERE position / ${BLOCK_SIZE} < (SELECT max(position) / ${BLOCK_SIZE} FROM delivery)
      GROUP BY position / ${BLOCK_SIZE}, customer`,
  ]
}

const BODY = (filling: string): string =>
  `'{"OrderID":"PO-' || (n / 2) || '","Status":' || (n % 3) || ',"Products":[{"Sku":"SKU-' || (n % 500) || '"}],"more":"' || ${filling} || '"}'`

function fillFile(path: string, most: number): void {
  const raw = new DatabaseSync(path)
  raw.exec('PRAGMA synchronous = OFF')
  raw.exec('CREATE TEMP TABLE numbers (n INTEGER PRIMARY KEY)')
  raw.exec(
    `INSERT INTO numbers WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r WHERE n < ${most}) SELECT n FROM r`,
  )
  const dialect = {
    receipt: `unhex(printf('%012x70008000%012x', ${START} + n * 1000, n))`,
    payload: `CAST(${BODY('hex(zeroblob(150))')} AS BLOB)`,
    digest: 'zeroblob(16)',
    offsets: `group_concat(position % ${BLOCK_SIZE}, ',' ORDER BY position)`,
  }
  for (const sql of fillSql('numbers', dialect)) raw.exec(sql)
  const insert = raw.prepare('INSERT INTO block_customers (block, customers) VALUES (?, ?)')
  const blocks = raw.prepare('SELECT block, json_group_array(customer) AS customers FROM delivery_block GROUP BY block')
  raw.exec('BEGIN')
  for (const { block, customers } of blocks.all())
    insert.run(block as number, listOf(JSON.parse(customers as string) as number[]))
  raw.exec('COMMIT')
  raw.close()
}

async function fillServer(url: string, most: number): Promise<void> {
  const dialect = {
    receipt: `(lpad(to_hex(${START} + n * 1000::bigint), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid`,
    payload: `convert_to(${BODY("repeat('0', 300)")}, 'UTF8')`,
    digest: "decode(repeat('00', 16), 'hex')",
    offsets: `string_agg((position % ${BLOCK_SIZE})::text, ',' ORDER BY position)`,
  }
  const numbers = `generate_series(1::bigint, ${most}) n`
  for (const sql of [
    ...fillSql(numbers, dialect),
    'DO $$ BEGIN WHILE add_block_1() LOOP END LOOP; END $$',
    `SELECT setval('last_position', ${most})`,
    'VACUUM ANALYZE',
    'CHECKPOINT',
  ])
    await runSql(url, sql)
}

interface Measured {
  readonly keys: readonly string[]
  /** Of the big supplier, who also logs in. */
  readonly email: string
  readonly most: number
  readonly rounds: number
  /** Where the store is. */
  readonly folder: string
}

async function measure(url: string, { keys, email, most, rounds, folder }: Measured): Promise<void> {
  const login = await fetch(`${url}/Login/Customer/Api/Verify`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ Email: email, Password: PASSWORD }),
  })
  const authorization = `Bearer ${((await login.json()) as { data: { Token: string } }).data.Token}`
  const send = createGet(url)
  const get = async (path: string, headers: Record<string, string>): Promise<string | null> =>
    (await send<{ data: { NextCursor: string | null } }>(path, headers)).data.NextCursor
  /** Each request goes on where the one before ended. */
  const walking = (path: string, headers: Record<string, string>) => {
    let cursor: string | null = null
    return async () => {
      cursor = await get(cursor === null ? path : `${path}&cursor=${cursor}`, headers)
    }
  }
  const day = (number: number): string => new Date(START + number * 86_400_000).toISOString().slice(0, 10)
  const middle = Math.floor(most / 2 / 86_400)
  const queries = {
    'first page': '/Supplier/deliveries?limit=50',
    'page after page': '/Supplier/deliveries?limit=50',
    'page after page, 100': '/Supplier/deliveries?limit=100',
    'of a status': '/Supplier/deliveries?status=1',
    'of a status that none has': '/Supplier/deliveries?status=3',
    'of a day in the middle': `/Supplier/deliveries?from=${day(middle)}&to=${day(middle + 1)}`,
    'of a day without any': '/Supplier/deliveries?to=2026-01-01',
    'of a product': '/Supplier/deliveries?product=SKU-7',
    'of a product that none names': '/Supplier/deliveries?product=none',
  }
  const suppliers = { big: keys[BIG], rare: keys[RARE], usual: keys[USUAL] }
  const kinds: Record<string, () => Promise<unknown>> = { 'nothing (/livez)': () => get('/livez', {}) }
  for (const [name, ApiKey = ''] of Object.entries(suppliers)) {
    for (const [what, path] of Object.entries(queries)) {
      kinds[`${name}: ${what}`] = what === 'first page' ? () => get(path, { ApiKey }) : walking(path, { ApiKey })
    }
  }
  kinds['big: one order'] = () => {
    const order = 4 * Math.floor((Math.random() * most) / 8)
    return get(`/Supplier/deliveries?orderId=PO-${order}`, { ApiKey: keys[BIG] ?? '' })
  }
  kinds['big: orders, newest first'] = walking('/Purchase/list?order=newest', { authorization })
  say(`${most / 1e6} million deliveries of ${SUPPLIERS} suppliers`)
  await printTimes(kinds, { rounds, folder })
}
