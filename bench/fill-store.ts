import { randomUUID } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { loadConfig } from '#src/config/load-config.ts'
import { createApiKeys } from '#src/customer/api-key.rule.ts'
import { createCustomers } from '#src/customer/customer.rule.ts'
import { systemClock } from '#src/lib/clock.ts'
import { systemRandom } from '#src/lib/random.ts'
import { passwords } from '#src/login/hashing.ts'
import { openStore } from '#src/store/open-store.ts'
import { BLOCK_SIZE } from '#src/store/sql/purges.ts'
import { openDatabase } from '#src/store/sqlite/database.ts'
import { createBlocks } from '#src/store/sqlite/deliveries/blocks.ts'
import { runSql } from '../test/support/postgres/postgres-server.ts'
import { customer } from '../test/support/store/store-rows.ts'

export const PASSWORD = randomUUID()
export const BIG_EMAIL = 'big@example.com'
/** When the first delivery was received. */
export const START = Date.parse('2026-08-01T00:00:00Z')

export interface Supplier {
  readonly id: string
  readonly key: string
  readonly keyId: string
}

/** Adds customers to an empty store, whose numbers are 1, 2 and so on. The first one can log in. Resolves to those with keys. */
export async function addSuppliers(databaseUrl: string, count: number, withKeys: number): Promise<Supplier[]> {
  const { store } = await openStore(loadConfig({ DATABASE_URL: databaseUrl }).config, Date.now())
  const parts = { store, clock: systemClock, random: systemRandom }
  const customers = createCustomers({ ...parts, hashPassword: passwords.hash })
  const apiKeys = createApiKeys({ ...parts, customers })
  const more = { isApi: true, regions: ['TR'], authority: ['*'] }
  const ids = [(await customers.add({ email: BIG_EMAIL, password: PASSWORD, ...more })).customer.id]
  while (ids.length < count) {
    const one = customer({ id: randomUUID(), email: `${randomUUID()}@example.com` })
    await store.customers.insert(one)
    ids.push(one.id)
  }
  const suppliers: Supplier[] = []
  for (const id of ids.slice(0, withKeys)) {
    const { key, view } = await apiKeys.issue(id, 'bench')
    suppliers.push({ id, key, keyId: view.id })
  }
  await store.close()
  return suppliers
}

/** How the deliveries with the numbers `n` from 1 on differ: expressions that both databases understand. */
export interface Filling {
  /** The number of the customer. */
  readonly whose: string
  readonly order: string
  /** The number of the order's previous delivery, or NULL. */
  readonly previous: string
  /** Whether it is the last one of its order. */
  readonly isLast: string
  readonly status: string
  /** Between two deliveries. */
  readonly milliseconds: number
  /** One in so many deliveries has an idempotency key. */
  readonly keyed?: number
}

interface Dialect {
  readonly receipt: string
  readonly payload: string
  readonly digest: string
}

const AT_ONCE = 1_000_000

/** Stores the deliveries with the numbers after `from` up to `to`, faster than a server would, in an order in which they could have come. */
export async function fillStore(databaseUrl: string, filling: Filling, from: number, to: number): Promise<void> {
  const path = /^sqlite:(.*)/.exec(databaseUrl)?.[1]
  for (let done = from; done < to; done = Math.min(to, done + AT_ONCE)) {
    const part = [done, Math.min(to, done + AT_ONCE)] as const
    if (path === undefined) await fillServer(databaseUrl, filling, ...part)
    else fillFile(path, filling, ...part)
    process.stderr.write(`\r${(part[1] / 1e6).toFixed(1)} of ${to / 1e6} million stored `)
  }
  process.stderr.write('\r')
}

function statements(numbers: string, filling: Filling, { receipt, payload, digest }: Dialect): string[] {
  const { whose, order, previous, isLast, status, keyed } = filling
  return [
    `INSERT INTO delivery (position, receipt, customer, order_id, status, received_at, previous, payload)
     SELECT n, ${receipt}, ${whose}, ${order}, ${status}, ${timeOf(filling)}, ${previous}, ${payload} FROM ${numbers} ORDER BY n`,
    `INSERT INTO order_state (customer, order_id, status, state_position, latest_position, digest)
     SELECT ${whose}, ${order}, ${status}, n, n, ${digest} FROM ${numbers} WHERE ${isLast} ORDER BY 1, 2`,
    ...(keyed === undefined
      ? []
      : [
          `INSERT INTO idempotency (customer, key, position, kept_at)
           SELECT ${whose}, 'key-' || n, n, ${timeOf(filling)} FROM ${numbers} WHERE n % ${keyed} = 0 ORDER BY n`,
        ]),
  ]
}

const timeOf = ({ milliseconds }: Filling): string => `${START} + n * ${milliseconds}`

const body = ({ order, status }: Filling, more: string): string =>
  `'{"OrderID":"' || ${order} || '","Status":' || (${status}) || ',"Products":[{"Sku":"SKU-' || (n % 500) || '"}],"more":"' || ${more} || '"}'`

function fillFile(path: string, filling: Filling, from: number, to: number): void {
  const raw = new DatabaseSync(path)
  raw.exec('PRAGMA synchronous = OFF')
  const dialect = {
    receipt: `unhex(printf('%012x70008000%012x', ${timeOf(filling)}, n))`,
    payload: `CAST(${body(filling, 'hex(zeroblob(150))')} AS BLOB)`,
    digest: 'zeroblob(16)',
  }
  const numbers = `(WITH RECURSIVE r (n) AS (SELECT ${from + 1} UNION ALL SELECT n + 1 FROM r WHERE n < ${to}) SELECT n FROM r)`
  for (const sql of statements(numbers, filling, dialect)) raw.exec(sql)
  raw.close()
  const database = openDatabase(path)
  const blocks = createBlocks(database)
  // So that it reads whose the deliveries are.
  blocks.stored(to + 1, 0)
  database.transaction(() => {
    for (let added = from; added < to + BLOCK_SIZE; added += BLOCK_SIZE) blocks.addComplete(to)
  })
  database.close()
}

async function fillServer(url: string, filling: Filling, from: number, to: number): Promise<void> {
  const dialect = {
    receipt: `(lpad(to_hex(${timeOf(filling)}), 12, '0') || '70008000' || lpad(to_hex(n), 12, '0'))::uuid`,
    payload: `convert_to(${body(filling, "repeat('0', 300)")}, 'UTF8')`,
    digest: "decode(repeat('00', 16), 'hex')",
  }
  for (const sql of [
    ...statements(`generate_series(${from + 1}::bigint, ${to}) n`, filling, dialect),
    'DO $$ BEGIN WHILE add_block_1() LOOP END LOOP; END $$',
    `SELECT setval('last_position', ${to})`,
  ])
    await runSql(url, sql)
}
