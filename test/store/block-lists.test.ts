import { join } from 'node:path'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import fc from 'fast-check'
import { expect, it, onTestFinished } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'
import { BLOCK_SIZE } from '#src/store/sql/purges.ts'
import { listOf } from '#src/store/sqlite/deliveries/blocks.ts'
import type { Store } from '#src/store/store.ts'
import { runSql } from '../support/postgres/postgres-server.ts'
import { newPostgresStore } from '../support/postgres/postgres-session.ts'
import { createStoreWith } from '../support/store/create-store.ts'
import { customer } from '../support/store/store-rows.ts'
import { storesOfRun } from '../support/store/stores.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { nextTime, purge, receivedAt } from './conformance/purging.ts'

type Rows = readonly Readonly<Record<string, unknown>>[]

/** A store with SQL beside it. */
interface Place {
  readonly url: string
  run(sql: string, ...values: SQLInputValue[]): Promise<Rows>
  readonly insert: string
  readonly insertList: string
  readonly offsets: string
  close(): void
}

const PAYLOAD = "'{}'"
const INSERT = (numbers: string, receipt: string, payload: string) => `
  INSERT INTO delivery (position, receipt, customer, status, received_at, payload)
  SELECT position, ${receipt}, customer, position % 4, position, ${payload} FROM ${numbers}`

const COMPLETE = (offsets: string, which: string) => `
  INSERT INTO delivery_block (block, customer, offsets)
  SELECT position / ${BLOCK_SIZE}, customer, ${offsets} FROM delivery
   WHERE position / ${BLOCK_SIZE} < (SELECT max(position) / ${BLOCK_SIZE} FROM delivery) AND ${which}
   GROUP BY position / ${BLOCK_SIZE}, customer`

function inFile(): Place {
  const path = join(tempFolder(), 'teslim.db')
  let raw: DatabaseSync | undefined
  const run: Place['run'] = async (sql, ...values) => {
    raw ??= new DatabaseSync(path)
    return raw.prepare(sql).all(...values)
  }
  const offsets = `group_concat(position % ${BLOCK_SIZE}, ',' ORDER BY position)`
  return {
    url: `sqlite:${path}`,
    run,
    insert: INSERT(
      '(SELECT value ->> 0 AS position, value ->> 1 AS customer FROM json_each(?))',
      "unhex(printf('%012x70008000%012x', position, position))",
      `CAST(${PAYLOAD} AS BLOB)`,
    ),
    insertList: 'INSERT INTO block_customers (block, customers) VALUES (?, ?)',
    offsets,
    close: () => raw?.close(),
  }
}

async function onServer(): Promise<Place> {
  const url = await newPostgresStore()
  const run: Place['run'] = (sql, ...values) => runSql(url, sql, values)
  return {
    url,
    run,
    insert: INSERT(
      '(SELECT (value ->> 0)::bigint AS position, (value ->> 1)::bigint AS customer FROM json_array_elements($1::json)) n',
      "(lpad(to_hex(position), 12, '0') || '70008000' || lpad(to_hex(position), 12, '0'))::uuid",
      `convert_to(${PAYLOAD}, 'UTF8')`,
    ),
    insertList: 'INSERT INTO block_customers (block, customers) VALUES ($1, $2)',
    offsets: `string_agg((position % ${BLOCK_SIZE})::text, ',' ORDER BY position)`,
    close: () => undefined,
  }
}

/** The numbers of the last six end up 8,192 above those of others, so that they share bits of the lists with them. */
const CUSTOMERS = 14
const SHARING = 'UPDATE customer SET number = number + 8186 WHERE number > 8'
const NUMBERS = [1, 2, 3, 4, 5, 6, 7, 8, 8195, 8196, 8197, 8198, 8199, 8200]

/** Which customers have deliveries in a block, how many of 16 positions are in use, and what comes after the blocks. */
const history = fc.record({
  blocks: fc.array(
    fc.record({
      customers: fc.uniqueArray(fc.integer({ min: 1, max: CUSTOMERS - 1 }), { minLength: 1, maxLength: 5 }),
      used: fc.constantFrom(0, 1, 1, 16),
    }),
    { minLength: 2, maxLength: 7 },
  ),
  more: fc.integer({ min: 1, max: 200 }),
  oldBlocks: fc.integer({ min: 0, max: 7 }),
  steps: fc.array(
    fc.oneof(
      fc.record({ deliver: fc.integer({ min: 1, max: 6 }) }),
      fc.record({ fill: fc.integer({ min: 0, max: CUSTOMERS - 1 }) }),
      fc.constant('open again' as const),
      fc.record({ purge: fc.integer({ min: 1, max: 100 }) }),
    ),
    { minLength: 1, maxLength: 6 },
  ),
})
type History = typeof history extends fc.Arbitrary<infer Value> ? Value : never

/** Returns positions with the numbers of their customers. One customer has most of the deliveries of a block. */
function deliveriesOf({ blocks, more }: History): [number, number][] {
  const all: [number, number][] = []
  for (const [block, { customers, used }] of blocks.entries()) {
    for (let offset = block === 0 ? 1 : 0; offset < BLOCK_SIZE; offset++) {
      if (offset % 16 >= used) continue
      const index = offset % 512 === 0 ? (offset / 512) % customers.length : 0
      all.push([block * BLOCK_SIZE + offset, NUMBERS[customers[index] as number] as number])
    }
  }
  for (let n = 0; n < more; n++) all.push([blocks.length * BLOCK_SIZE + n, NUMBERS[n % 3] as number])
  return all
}

/** How a customer asks: status, deliveries on a page, deliveries looked at. */
const WAYS = [
  [undefined, 3000, 3000],
  [2, 3000, 7000],
  [undefined, 97, 97],
  [undefined, 2, 2],
  [2, 1, 1],
  [2, 3, 2],
] as const

/** The first pages of each customer, or all, are what a plain look at the table finds. In each round a customer asks in another way. */
async function expectPages(store: Store, { run }: Place, ids: readonly string[], round: number): Promise<void> {
  const rows = await run('SELECT position, customer, status FROM delivery ORDER BY position DESC')
  const ofCustomers = Map.groupBy(rows, (row) => Number(row.customer))
  for (const [index, customerId] of ids.entries()) {
    const [status, limit, scan] = WAYS[(index + round) % WAYS.length] as (typeof WAYS)[number]
    const own = ofCustomers.get(NUMBERS[index] as number) ?? []
    const wanted = own.filter((row) => status === undefined || Number(row.status) === status)
    const found: number[] = []
    let position = Number.MAX_SAFE_INTEGER
    for (let pages = 0; position > 0 && pages < 40; pages++) {
      const page = await store.deliveries.before(position, { customerId, ...(status && { status }) }, { limit, scan })
      expect(page.position).toBeLessThan(position)
      found.push(...page.deliveries.map((each) => each.position))
      position = page.position
    }
    expect(found).toEqual(wanted.map((each) => Number(each.position)).filter((each) => each >= position))
  }
}

/** Each block has a list, with the customers of the block and no others. */
async function expectLists({ run }: Place): Promise<void> {
  const lists = await run('SELECT block, customers FROM block_customers ORDER BY block')
  const blocks = Map.groupBy(await run('SELECT block, customer FROM delivery_block'), ({ block }) => Number(block))
  const wanted = [...blocks].sort(([one], [other]) => one - other)
  const found = lists.filter(({ block }) => blocks.has(Number(block)))
  expect(found.map(({ block, customers }) => [Number(block), [...(customers as Uint8Array)]])).toEqual(
    wanted.map(([block, rows]) => [block, [...listOf(rows.map(({ customer }) => Number(customer)))]]),
  )
}

const someOf = (customerId: string, count: number) =>
  Array.from({ length: count }, () => receivedAt(nextTime(), customerId, { orderId: null }))

const open = async (url: string): Promise<Store> => (await openStore(loadConfig({ DATABASE_URL: url }).config, 0)).store

async function live(place: Place, past: History): Promise<void> {
  const customers = Array.from({ length: CUSTOMERS }, () => customer({ regions: [], authority: [] }))
  const ids = customers.map(({ id }) => id)
  await createStoreWith(place.url, customers)
  await place.run(SHARING)
  const old = deliveriesOf(past)
  await place.run(place.insert, JSON.stringify(old))
  if (!place.url.startsWith('sqlite:'))
    await place.run("SELECT setval('last_position', $1::bigint)", old.at(-1)?.[0] ?? 0)
  await place.run(COMPLETE(place.offsets, `position / ${BLOCK_SIZE} < ${past.oldBlocks}`))
  const blocks = await place.run('SELECT block, customer FROM delivery_block ORDER BY block')
  for (const [block, rows] of Map.groupBy(blocks, ({ block }) => Number(block))) {
    const list = Buffer.from(listOf(rows.map((row) => Number(row.customer))))
    await place.run(place.insertList, block, list)
  }
  let store = await open(place.url)
  try {
    await expectPages(store, place, ids, 0)
    const deliver = async (count: number, whose: number): Promise<void> => {
      await Promise.all(someOf(ids[whose] ?? '', count).map((each) => store.deliveries.deliver(each)))
    }
    for (const [index, step] of past.steps.entries()) {
      if (step === 'open again') {
        await store.close()
        store = await open(place.url)
      } else if ('deliver' in step) {
        for (let n = 0; n < step.deliver; n++) await deliver(1, (n * 4) % CUSTOMERS)
      } else if ('fill' in step) {
        for (let n = 0; n < 9; n++) await deliver(500, step.fill)
      } else await purge(store, Math.ceil(((old.at(-1)?.[0] ?? 0) * step.purge) / 100))
      await expectPages(store, place, ids, 1 + index)
      await expectLists(place)
    }
  } finally {
    await store.close()
    place.close()
  }
}

it('SQLite finds exactly the deliveries of each customer, whatever has a block', {
  timeout: 240_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(history, (past) => live(inFile(), past)),
    { numRuns: 6, endOnFailure: true },
  )
})

it('PostgreSQL finds exactly the deliveries of each customer, whatever has a block', {
  timeout: 240_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(history, async (past) => live(await onServer(), past)),
    { numRuns: 5, endOnFailure: true },
  )
})

it.each(storesOfRun())(
  '%s looks only into the blocks whose lists have the customer',
  { timeout: 60_000 },
  async (kind) => {
    const place = kind === 'sqlite' ? inFile() : await onServer()
    const one = customer()
    await createStoreWith(place.url, [one])
    const store = await open(place.url)
    onTestFinished(async () => {
      await store.close()
      place.close()
    })
    const found = async () => {
      const all = { limit: 1e4, scan: 1e4 }
      return (await store.deliveries.before(Number.MAX_SAFE_INTEGER, { customerId: one.id }, all)).deliveries.length
    }
    const listed = async () => {
      if (!place.url.startsWith('sqlite:')) await place.run('SELECT add_block_1()')
      return (await place.run('SELECT block FROM block_customers')).length
    }
    for (let n = 0; n < 18; n++) await Promise.all(someOf(one.id, 500).map((each) => store.deliveries.deliver(each)))
    await expect.poll(listed, { timeout: 20_000, interval: 20 }).toBe(2)
    expect(await found()).toBe(9000)
    const none = place.url.startsWith('sqlite:') ? "x'00'" : "'\\x00'"
    await place.run(`UPDATE block_customers SET customers = ${none} WHERE block = 0`)
    expect(await found()).toBe(9001 - BLOCK_SIZE)
  },
)

it.each(storesOfRun())(
  '%s finds deliveries across spans of 64 blocks, and looks only into the spans whose lists have the customer',
  { timeout: 60_000 },
  async (kind) => {
    const place = kind === 'sqlite' ? inFile() : await onServer()
    const [one, other] = [customer(), customer()]
    await createStoreWith(place.url, [one, other])
    // One delivery in each of 200 blocks; those of `other` in blocks 10, 70, 130 and 190.
    const old = Array.from({ length: 200 }, (_, block) => [block * BLOCK_SIZE + 7, block % 60 === 10 ? 2 : 1] as const)
    await place.run(place.insert, JSON.stringify(old))
    if (kind !== 'sqlite') await place.run("SELECT setval('last_position', $1::bigint)", old.at(-1)?.[0] ?? 0)
    const store = await open(place.url)
    onTestFinished(async () => {
      await store.close()
      place.close()
    })
    // Each adds a block.
    for (let n = 0; n < 200; n++) {
      if (kind === 'sqlite') await Promise.all(someOf(one.id, 1).map((each) => store.deliveries.deliver(each)))
      else await place.run('SELECT add_block_1()')
    }
    const spans = await place.run('SELECT span, customers FROM span_customers ORDER BY span')
    expect(spans.map(({ span, customers }) => [Number(span), [...(customers as Uint8Array)]])).toEqual(
      [0, 1, 2].map((span) => [span, [0b110]]),
    )
    const found = async (look: number) => {
      const positions: number[] = []
      for (let before = Number.MAX_SAFE_INTEGER; before > 0; ) {
        const page = await store.deliveries.before(before, { customerId: other.id }, { limit: look, scan: look })
        positions.push(...page.deliveries.map(({ position }) => position))
        before = page.position
      }
      return positions.map((position) => Math.floor(position / BLOCK_SIZE))
    }
    for (const look of [1, 2, 100]) expect(await found(look)).toEqual([190, 130, 70, 10])
    await place.run(`UPDATE span_customers SET customers = ${kind === 'sqlite' ? "x'00'" : "'\\x00'"} WHERE span = 1`)
    expect(await found(100)).toEqual([190, 130, 10])
    await purge(store, 150 * BLOCK_SIZE)
    expect((await place.run('SELECT span FROM span_customers')).map(({ span }) => Number(span))).toEqual([2])
  },
)
