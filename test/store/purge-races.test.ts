import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openDatabase } from '#src/store/sqlite/database.ts'
import { boundNouns } from '#src/store/sqlite/nouns.ts'
import type { PurgePage, Store } from '#src/store/store.ts'
import { session, untilWaiting } from '../support/postgres/postgres-session.ts'
import { customer, delivery } from '../support/store/store-rows.ts'
import { storesOfRun } from '../support/store/stores.ts'
import { openTestStore } from '../support/store/test-store.ts'
import { tempFolder } from '../support/temp-folder.ts'
import { addEndpointWith, FAILED, rowAt, saveProgress } from '../support/webhooks/unsent.ts'

const page: PurgePage = { after: 0, until: 3, before: 3, orders: false, unsent: true, now: 9, scan: 10, dryRun: false }

/** Three old deliveries, of which an endpoint has not taken the first, which fails, and the last two. */
async function prepare(DATABASE_URL: string): Promise<{ readonly store: Store; readonly id: string }> {
  const store = await openTestStore(DATABASE_URL)
  const one = customer()
  await store.customers.insert(one)
  for (let n = 0; n < 4; n++) await store.deliveries.deliver(delivery(one.id, { orderId: null, receivedAt: n }))
  while ((await store.rollUps.count(10)) > 0);
  const id = await addEndpointWith(store, { position: 1 }, { kept: [rowAt(1, 5, FAILED)] })
  return { store, id }
}

/** What the endpoint takes while a purge is about to remove it. */
const TAKEN = {
  position: 2,
  confirmed: [{ position: 2, status: 200, milliseconds: 1 }],
  settled: [{ position: 1, lane: 5 }],
}
const LEFT = { removedUnsent: 1, waiting: 0, failing: 0, setAside: 0, position: 2 }

it('SQLite counts no delivery that was sent after the purge had found it', async () => {
  const path = join(tempFolder(), 'teslim.db')
  const { store, id } = await prepare(`sqlite:${path}`)
  const database = openDatabase(path)
  onTestFinished(() => database.close())
  const { removable, remove } = boundNouns(database).purges as Readonly<
    Record<'removable' | 'remove', (...args: unknown[]) => unknown>
  >
  const found = removable(page)
  expect(found).toMatchObject({ wouldRemove: { webhooks: [{ id, removed: 3 }] } })
  await saveProgress(store, id, TAKEN)
  expect(remove(found, page)).toMatchObject({ deliveries: 3, unsent: new Map([[id, 1]]) })
  expect(await store.webhooks.find(id)).toMatchObject(LEFT)
  // Another purge had found them, too.
  expect(remove(found, page)).toMatchObject({ deliveries: 0, unsent: new Map() })
  expect(await store.webhooks.find(id)).toMatchObject(LEFT)
})

it.each(storesOfRun('postgres'))(
  '%s counts no delivery that was sent after the purge had found it',
  async (_kind, emptyStore) => {
    const { DATABASE_URL } = await emptyStore()
    const { store, id } = await prepare(DATABASE_URL)
    const holder = await session(DATABASE_URL)
    await holder.query('BEGIN; SELECT FROM webhook_progress FOR UPDATE')
    const purging = [store.purges.page(page), store.purges.page(page)]
    await untilWaiting(DATABASE_URL, 2)
    // Deliveries do not.
    const [{ id: customerId } = { id: '' }] = await store.customers.list({ limit: 1 })
    await store.deliveries.deliver(delivery(customerId, { orderId: null, receivedAt: 4 }))
    await holder.query(
      `UPDATE webhook_progress SET position = 2, waiting = 0, failing = 0; DELETE FROM webhook_waiting`,
    )
    await holder.query('COMMIT')
    const reports = await Promise.all(purging)
    expect(reports.map(({ deliveries }) => deliveries).toSorted()).toEqual([0, 3])
    expect(reports.flatMap(({ webhooks }) => webhooks.map(({ removed }) => removed)).toSorted()).toEqual([0, 1])
    expect(await store.webhooks.find(id)).toMatchObject(LEFT)
  },
)
