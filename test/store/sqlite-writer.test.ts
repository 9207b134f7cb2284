import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { expect, it } from 'vitest'
import { openSqliteStore } from '#src/store/sqlite/sqlite-store.ts'
import type { ThreadData } from '#src/store/sqlite/thread/store-thread.ts'
import type { NewDelivery } from '#src/store/store.ts'
import { tempFolder } from '../support/temp-folder.ts'

const folder = tempFolder()
const WORKER = new URL('../../src/store/sqlite/thread/worker.ts', import.meta.url)

async function storeWithWorkers(name: string) {
  const workers: Worker[] = []
  const spawn = (workerData: ThreadData): Worker => {
    const worker = new Worker(WORKER, { workerData })
    workers.push(worker)
    return worker
  }
  const limits = { maxItems: 1000, maxBytes: 1e8, maxWaitMilliseconds: 10_000 }
  const { store } = await openSqliteStore({ path: join(folder, name), now: 0, limits, spawn })
  await store.customers.insert({
    id: 'customer',
    email: 'a@b.co',
    name: '',
    note: '',
    disabledReason: '',
    silence: null,
    passwordHash: '',
    isApi: true,
    scope: 'customer',
    payloads: false,
    enabled: true,
    regions: [],
    authority: [],
    tokenGeneration: '',
    createdAt: 0,
  })
  return { store, workers }
}

const delivery = (number: number, more: Partial<NewDelivery> = {}): NewDelivery => ({
  receiptId: `00000000-0000-7000-8000-${String(number).padStart(12, '0')}`,
  customerId: 'customer',
  orderId: `order-${number}`,
  status: 1,
  receivedAt: number,
  payload: Buffer.from(`{"Status":1,"n":${number}}`),
  idempotency: null,
  origin: null,
  ...more,
})

it('a bad delivery fails alone: the others of its batch are stored', async () => {
  const { store } = await storeWithWorkers('neighbours.db')
  const batch = [1, 2, 3, 4, 5].map((number) => delivery(number, number === 3 ? { customerId: 'nobody' } : {}))
  const outcomes = await Promise.allSettled(batch.map((one) => store.deliveries.deliver(one)))
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled', 'fulfilled'])
  const stored = await Promise.all(batch.map(({ receiptId }) => store.deliveries.findByReceipt(receiptId)))
  expect(stored.map((row) => row !== undefined)).toEqual([true, true, false, true, true])
  await store.close()
})

it('a writer that dies fails what it had under way, and the next delivery starts another', async () => {
  const { store, workers } = await storeWithWorkers('death.db')
  await store.deliveries.deliver(delivery(1))
  const caught = Promise.allSettled([2, 3, 4].map((number) => store.deliveries.deliver(delivery(number))))
  // Terminated in the turn in which the batch is handed over.
  await new Promise((resolve) => setImmediate(resolve))
  await workers[0]?.terminate()
  for (const outcome of await caught) {
    if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'STORE_UNAVAILABLE' })
  }
  const after = await store.deliveries.deliver(delivery(5))
  expect(after).toMatchObject({ duplicate: false })
  expect(workers).toHaveLength(2)
  for (const [index, outcome] of (await caught).entries()) {
    const row = await store.deliveries.findByReceipt(delivery(index + 2).receiptId)
    if (outcome.status === 'fulfilled') expect(row).toBeDefined()
  }
  await store.close()
})

it('a writer that cannot start fails the delivery', async () => {
  const limits = { maxItems: 10, maxBytes: 1000, maxWaitMilliseconds: 10_000 }
  const spawn = (): Worker => new Worker('throw new Error("on purpose")', { eval: true })
  const { store } = await openSqliteStore({ path: join(folder, 'no-start.db'), now: 0, limits, spawn })
  await expect(store.deliveries.deliver(delivery(1))).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  await store.close()
})

it('an operation that waits for the writer to start is not late', async () => {
  // Less than the thread takes to start.
  const limits = { maxItems: 10, maxBytes: 1000, maxWaitMilliseconds: 50 }
  const { store } = await openSqliteStore({ path: join(folder, 'slow-start.db'), now: 0, limits, toServe: true })
  expect(Buffer.from(await store.secrets.findOrInsert('name', Buffer.from('value'))).toString()).toBe('value')
  await store.close()
})

it('closing waits until submitted deliveries are stored', async () => {
  const { store } = await storeWithWorkers('closing.db')
  const submitted = [1, 2, 3].map((number) => store.deliveries.deliver(delivery(number)))
  await Promise.all([store.close(), ...submitted])
  const limits = { maxItems: 10, maxBytes: 1000, maxWaitMilliseconds: 10_000 }
  const { store: again } = await openSqliteStore({ path: join(folder, 'closing.db'), now: 0, limits })
  for (const number of [1, 2, 3]) expect(await again.deliveries.findByReceipt(delivery(number).receiptId)).toBeDefined()
  await again.close()
})
