import { describe, expect, it } from 'vitest'
import { systemRandom } from '#src/lib/random.ts'
import { createCursors } from '#src/purchase/cursors.ts'
import { readingSupplier } from '../../support/app/supplier.ts'
import { type TestApp, testApp } from '../../support/app/test-app.ts'
import { type EmptyStore, runSql, storesOfRun } from '../../support/store/stores.ts'

type Supplier = Awaited<ReturnType<typeof readingSupplier>>

const orders = async ({ get }: Supplier, query: string): Promise<string[]> =>
  (await get(`/Purchase/feed?${query}`)).json().data.Deliveries.map(({ OrderID }: { OrderID: string }) => OrderID)

/** Two customers with deliveries, and a cursor of the first one that lies a few positions after the last delivery. */
async function started(emptyStore: EmptyStore) {
  const service = await testApp(await emptyStore(), { withThreads: true })
  const [one, other] = [await readingSupplier(service), await readingSupplier(service)]
  const last = await one.deliver({ OrderID: 'A', Status: 1 })
  await other.deliver({ OrderID: 'B', Status: 1 })
  const { NextCursor: whole } = (await one.get('/Purchase/feed')).json().data
  const cursors = createCursors(service.store.secrets, systemRandom)
  const place = (await service.store.deliveries.lastPosition()) + 3
  const lost = await cursors.seal(['feed', one.customer.id], place)
  return { service, one, other, last, whole, lost }
}

async function expectRefused({ get }: Supplier, cursor: string, what: string) {
  for (const [query, headers] of [
    [`?after=${cursor}`, {}],
    [`?after=${cursor}&wait=30`, {}],
    [`?after=${cursor}`, { accept: 'text/event-stream' }],
    ['', { accept: 'text/event-stream', 'last-event-id': cursor }],
  ] as const) {
    const answer = await get(`/Purchase/feed${query}`, headers)
    expect([answer.statusCode, answer.json()]).toEqual([
      410,
      {
        data: null,
        success: false,
        errorCode: 'DELIVERIES_LOST',
        requestId: expect.any(String),
        message: expect.stringContaining(what),
      },
    ])
  }
  const { message } = (await get(`/Purchase/feed?after=${cursor}`)).json()
  return /go on with the cursor (\S+)$/.exec(message)?.[1]
}

describe.each(storesOfRun())('the feed on %s', (_kind, emptyStore) => {
  it('refuses a cursor beyond the last delivery, and gives one that begins again', async () => {
    const { one, whole, lost } = await started(emptyStore)
    const cursor = await expectRefused(one, lost, 'Which ones before them are left cannot be told')
    await one.deliver({ OrderID: 'C', Status: 1 })
    expect(await orders(one, `after=${whole}`)).toEqual(['C'])
    expect(await orders(one, `after=${cursor}`)).toEqual(['A', 'C'])
  })
})

describe.each(storesOfRun('postgres'))('the feed on %s that failed over', (_kind, emptyStore) => {
  /** What a promoted standby lacks, and what the promotion changes. */
  const failOver = async ({ config, store }: TestApp, lost: number): Promise<void> => {
    const last = (await store.deliveries.lastPosition()) - lost
    await runSql(config.databaseUrl, `DELETE FROM delivery WHERE position > ${last}`)
    await runSql(config.databaseUrl, 'UPDATE history SET timeline = -1')
  }

  it('refuses a cursor of what was lost, says when that was noticed, and serves all others', async () => {
    const { service, one, other, last, whole, lost } = await started(emptyStore)
    await failOver(service, 0)
    await other.deliver({ OrderID: 'D', Status: 1 })
    const { resumed } = await service.store.history()
    const noticed = new Date(resumed?.at ?? 0).toISOString()
    // That of the customer, though another one's is the last one of all.
    const left = `The last one before them that is left is ${last.ReceiptID}.`
    const what = `lost deliveries (noticed at ${noticed}), and this cursor lies among them. ${left}`
    const cursor = await expectRefused(one, lost, what)
    await one.deliver({ OrderID: 'C', Status: 1 })
    for (const after of [cursor, whole]) expect(await orders(one, `after=${after}`)).toEqual(['C'])
  })

  it('tells a request that waits at a lost place, though nothing of its customer came', async () => {
    const { service, one, other } = await started(emptyStore)
    await one.deliver({ OrderID: 'L', Status: 1 })
    const { NextCursor } = (await one.get('/Purchase/feed')).json().data
    const waiting = one.get(`/Purchase/feed?after=${NextCursor}&wait=60`)
    // It waits: the server asks for notices.
    const listens = `SELECT FROM pg_stat_activity WHERE query ~ 'pg_advisory_lock_shared' AND datname = current_database()`
    await expect.poll(() => runSql(service.config.databaseUrl, listens)).not.toEqual([])
    await failOver(service, 1)
    await other.deliver({ OrderID: 'D', Status: 1 })
    expect((await waiting).json()).toMatchObject({ errorCode: 'DELIVERIES_LOST' })
  })
})
