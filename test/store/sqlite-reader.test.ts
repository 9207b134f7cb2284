import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { Worker } from 'node:worker_threads'
import { expect, it } from 'vitest'
import { openDatabase } from '#src/store/sqlite/database.ts'
import { openSqliteStore } from '#src/store/sqlite/sqlite-store.ts'
import type { ThreadData } from '#src/store/sqlite/thread/store-thread.ts'
import { customer, delivery } from '../support/store/store-rows.ts'
import { tempFolder } from '../support/temp-folder.ts'

const folder = tempFolder()
const WORKER = new URL('../../src/store/sqlite/thread/worker.ts', import.meta.url)
const limits = { maxItems: 1000, maxBytes: 1e8, maxWaitMilliseconds: 10_000 }
const ALL = { limit: 10, scan: 10 }

async function storeWithReaders(name: string) {
  const readers: Worker[] = []
  const spawnReader = (workerData: ThreadData): Worker => {
    const worker = new Worker(WORKER, { workerData })
    readers.push(worker)
    return worker
  }
  const path = join(folder, name)
  const { store } = await openSqliteStore({ path, now: 0, limits, spawnReader })
  const one = customer()
  await store.customers.insert(one)
  await store.deliveries.deliver(delivery(one.id, { orderId: 'a' }))
  return { store, readers, path, one }
}

it('the reader starts with the first walk, not with look-ups of single rows, and ends with the store', async () => {
  const { store, readers, one } = await storeWithReaders('start.db')
  await store.deliveries.orderState(one.id, 'a')
  await store.deliveries.findByReceipt('none')
  expect(readers).toHaveLength(0)
  const walks = [store.deliveries.orders(null, {}, ALL), store.deliveries.after(0, {}, ALL)] as const
  expect((await walks[0]).orders).toHaveLength(1)
  expect((await walks[1]).deliveries).toHaveLength(1)
  expect(readers).toHaveLength(1)
  const ended = new Promise((resolve) => readers[0]?.on('exit', resolve))
  await store.close()
  expect(await ended).toBe(0)
})

it('a reader that dies fails its pending walks, and the next walk starts another reader', async () => {
  const { store, readers, one } = await storeWithReaders('death.db')
  await store.deliveries.history(one.id, 'a')
  const underWay = store.deliveries.orders(null, {}, ALL)
  const terminated = readers[0]?.terminate()
  await underWay.then(
    ({ orders }) => expect(orders).toHaveLength(1),
    (error: unknown) => expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' }),
  )
  await terminated
  expect((await store.deliveries.orders(null, {}, ALL)).orders).toHaveLength(1)
  expect(readers).toHaveLength(2)
  await store.close()
})

it('a reader that cannot start fails the walk but no delivery', async () => {
  const spawnReader = (): Worker => new Worker('throw new Error("on purpose")', { eval: true })
  const { store } = await openSqliteStore({ path: join(folder, 'no-start.db'), now: 0, limits, spawnReader })
  const one = customer()
  await store.customers.insert(one)
  await expect(store.deliveries.orders(null, {}, ALL)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect(await store.deliveries.deliver(delivery(one.id))).toMatchObject({ duplicate: false })
  await store.close()
})

it('a reader sees the latest commit and cannot write', async () => {
  const { store, path, one } = await storeWithReaders('fresh.db')
  for (let n = 1; n < 20; n++) {
    expect((await store.deliveries.after(0, {}, { limit: 100, scan: 100 })).deliveries).toHaveLength(n)
    await store.deliveries.deliver(delivery(one.id, { orderId: 'a' }))
  }
  const reader = openDatabase(path, { readOnly: true })
  expect(() => reader.run('DELETE FROM delivery')).toThrowError()
  expect(reader.get('SELECT count(*) AS n FROM delivery')).toEqual({ n: 20 })
  reader.close()
  await store.close()
})

it('opening a missing file for reading does not create it', () => {
  expect(() => openDatabase(join(folder, 'none.db'), { readOnly: true })).toThrowError()
  expect(() => new DatabaseSync(join(folder, 'none.db'), { readOnly: true })).toThrowError()
})
