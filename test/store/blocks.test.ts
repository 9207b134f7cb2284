import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expect, it, onTestFinished } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'
import { BLOCK_SIZE } from '#src/store/sql/purges.ts'
import type { Store } from '#src/store/store.ts'
import { runSql } from '../support/postgres/postgres-server.ts'
import { newPostgresStore } from '../support/postgres/postgres-session.ts'
import { customer, delivery } from '../support/store/store-rows.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { nextTime, purge, receivedAt } from './conformance/purging.ts'

const customers = Array.from({ length: 7 }, () => customer())

async function openTwo(databaseUrl: string): Promise<[Store, Store]> {
  const { config } = loadConfig({ DATABASE_URL: databaseUrl })
  const stores = [(await openStore(config, 0)).store, (await openStore(config, 0)).store] as const
  onTestFinished(async () => {
    for (const store of stores) await store.close()
  })
  for (const one of customers) await stores[0].customers.insert(one)
  return [...stores]
}

/** Stores deliveries of customers in a fixed irregular order, in batches. */
async function deliverMany({ deliveries }: Store, count: number): Promise<void> {
  for (let done = 0; done < count; done += 400) {
    const some = Array.from({ length: Math.min(400, count - done) }, (_, n) =>
      delivery(customers[(((done + n) * 31) % 11) % 7]?.id ?? '', { payload: Buffer.from('{}') }),
    )
    await Promise.all(some.map((each) => deliveries.deliver(each)))
  }
}

/** Fills two blocks, purges all of their deliveries, and returns the numbers of the blocks that are left. */
async function purgeBlocks(store: Store, numbers: () => Promise<readonly unknown[]>): Promise<readonly unknown[]> {
  const time = nextTime()
  const someone = customers[0]?.id ?? ''
  const fill = async (count: number, at: number): Promise<void> => {
    for (let done = 0; done < count; done += 512) {
      const some = Array.from({ length: 512 }, () =>
        receivedAt(at, someone, { orderId: null, payload: Buffer.from('{}') }),
      )
      await Promise.all(some.map((each) => store.deliveries.deliver(each)))
    }
  }
  await fill(2 * BLOCK_SIZE, time)
  await fill(1536, nextTime())
  await expect.poll(numbers, { timeout: 20_000, interval: 20 }).toEqual([0, 1])
  await purge(store, time + 1)
  return numbers()
}

interface Rows {
  readonly blocks: readonly string[]
  readonly lists: readonly string[]
  readonly wanted: readonly string[]
}

const BLOCKS = "SELECT block || ':' || customer || ':' || offsets AS text FROM delivery_block ORDER BY block, customer"
const WANTED = (list: string) => `
  SELECT (position / ${BLOCK_SIZE}) || ':' || customer || ':' || ${list} AS text FROM delivery
   WHERE position / ${BLOCK_SIZE} < (SELECT max(position) / ${BLOCK_SIZE} FROM delivery)
   GROUP BY position / ${BLOCK_SIZE}, customer ORDER BY position / ${BLOCK_SIZE}, customer`

const LISTS = (hex: string) => `SELECT ${hex} AS text FROM block_customers ORDER BY block`

/** The bits of customers 1 to 7. */
const LIST = 'FE'

const texts = (rows: readonly Record<string, unknown>[]): string[] => rows.map(({ text }) => String(text))

function rowsOfFile(path: string): Rows {
  const raw = new DatabaseSync(path)
  const list = `group_concat(position % ${BLOCK_SIZE}, ',' ORDER BY position)`
  const [blocks = [], wanted = [], lists = []] = [BLOCKS, WANTED(list), LISTS('hex(customers)')].map((sql) =>
    texts(raw.prepare(sql).all()),
  )
  raw.close()
  return { blocks, wanted, lists }
}

async function rowsOfServer(url: string): Promise<Rows> {
  const list = `string_agg((position % ${BLOCK_SIZE})::text, ',' ORDER BY position)`
  const lists = LISTS("upper(encode(customers, 'hex'))")
  return {
    blocks: texts(await runSql(url, BLOCKS)),
    wanted: texts(await runSql(url, WANTED(list))),
    lists: texts(await runSql(url, lists)),
  }
}

it('SQLite has a row for each customer in each complete block, also where two processes write', async () => {
  const path = join(tempFolder(), 'teslim.db')
  const [one, other] = await openTwo(`sqlite:${path}`)
  await deliverMany(one, BLOCK_SIZE + 100)
  expect(rowsOfFile(path).blocks).toHaveLength(7)
  await deliverMany(other, 1000)
  await deliverMany(one, 1000)
  await deliverMany(other, 3 * BLOCK_SIZE)
  const { blocks, wanted, lists } = rowsOfFile(path)
  expect(wanted).toHaveLength(4 * 7)
  expect(blocks).toEqual(wanted)
  expect(lists).toEqual([LIST, LIST, LIST, LIST])
})

it('SQLite adds one block with each batch to a store of an earlier version', async () => {
  const path = join(tempFolder(), 'teslim.db')
  const [store] = await openTwo(`sqlite:${path}`)
  await deliverMany(store, 2 * BLOCK_SIZE + 100)
  const raw = new DatabaseSync(path)
  raw.exec('DELETE FROM delivery_block; DELETE FROM block_customers')
  raw.close()
  const [again] = await openAgain(path)
  const receipts = async () => {
    const filter = { customerId: customers[0]?.id }
    const page = await again.deliveries.before(Number.MAX_SAFE_INTEGER, filter, { limit: 10_000, scan: 10_000 })
    return page.deliveries.map(({ receiptId }) => receiptId)
  }
  const before = await receipts()
  for (const count of [7, 14, 14]) {
    await deliverMany(again, 1)
    expect(rowsOfFile(path).blocks).toHaveLength(count)
    expect(rowsOfFile(path).lists).toEqual(Array.from({ length: count / 7 }, () => LIST))
    expect(await receipts()).toEqual(expect.arrayContaining(before))
  }
  const { blocks, wanted } = rowsOfFile(path)
  expect(blocks).toEqual(wanted)
})

async function openAgain(path: string): Promise<[Store]> {
  const { store } = await openStore(loadConfig({ DATABASE_URL: `sqlite:${path}` }).config, 0)
  onTestFinished(() => store.close())
  return [store]
}

it('SQLite keeps the blocks right after a batch that failed', async () => {
  const path = join(tempFolder(), 'teslim.db')
  const [store, other] = await openTwo(`sqlite:${path}`)
  await deliverMany(store, 500)
  const double = delivery(customers[0]?.id ?? '')
  const some = [double, delivery(customers[1]?.id ?? ''), double, delivery(customers[2]?.id ?? '')]
  const outcomes = await Promise.allSettled(some.map((each) => store.deliveries.deliver(each)))
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled'])
  await deliverMany(other, 3)
  await deliverMany(store, BLOCK_SIZE)
  const { blocks, wanted, lists } = rowsOfFile(path)
  expect(wanted).toHaveLength(7)
  expect(blocks).toEqual(wanted)
  expect(lists).toEqual([LIST])
})

const NUMBERS = 'SELECT DISTINCT block FROM delivery_block ORDER BY block'
const LISTED = 'SELECT block FROM block_customers ORDER BY block'

const LATER = "INSERT INTO delivery_block (block, customer, offsets) VALUES (2, 1, '0')"

it('a purge deletes blocks that it has emptied; the last one goes when there is a later one', {
  timeout: 60_000,
}, async () => {
  const path = join(tempFolder(), 'teslim.db')
  const [store] = await openTwo(`sqlite:${path}`)
  const raw = new DatabaseSync(path)
  onTestFinished(() => raw.close())
  const blocks = async () => Array.from(raw.prepare(NUMBERS).all(), ({ block }) => block)
  expect(await purgeBlocks(store, blocks)).toEqual([1])
  expect(raw.prepare(LISTED).all()).toEqual([{ block: 1 }])
  raw.exec(LATER)
  await purge(store, nextTime())
  expect(await blocks()).toEqual([2])
  expect(raw.prepare(LISTED).all()).toEqual([])

  const url = await newPostgresStore()
  const [other] = await openTwo(url)
  const numbers = async () => (await runSql(url, NUMBERS)).map(({ block }) => Number(block))
  expect(await purgeBlocks(other, numbers)).toEqual([1])
  expect((await runSql(url, LISTED)).map(({ block }) => Number(block))).toEqual([1])
  await runSql(url, LATER)
  await purge(other, nextTime())
  expect(await numbers()).toEqual([2])
  expect(await runSql(url, LISTED)).toEqual([])
})

it('PostgreSQL has a row for each customer in each complete block, whichever replica adds it', {
  timeout: 60_000,
}, async () => {
  const url = await newPostgresStore()
  const [one, other] = await openTwo(url)
  await Promise.all([deliverMany(one, BLOCK_SIZE), deliverMany(other, 2 * BLOCK_SIZE)])
  await deliverMany(one, 1200)
  const rows = await rowsOfServer(url)
  expect(rows.wanted).toHaveLength(3 * 7)
  await runSql(url, 'DELETE FROM delivery_block')
  await runSql(url, 'DELETE FROM block_customers')
  await expect
    .poll(
      async () => {
        await deliverMany(one, 1200)
        const { blocks, wanted, lists } = await rowsOfServer(url)
        return wanted.length - blocks.length + wanted.length / 7 - lists.length
      },
      { timeout: 30_000, interval: 20 },
    )
    .toBe(0)
  const { blocks, wanted, lists } = await rowsOfServer(url)
  expect(blocks).toEqual(wanted)
  expect(new Set(lists)).toEqual(new Set([LIST]))
})
