import { describe, expect, it } from 'vitest'
import { purgeDeliveries } from '#src/purchase/purge/purge.rule.ts'
import { createDeliveryRetention } from '#src/purchase/purge/retention.ts'
import { readingSupplier } from '../../support/app/supplier.ts'
import { testApp, testAppBeside } from '../../support/app/test-app.ts'
import { type EmptyStore, storesOfRun } from '../../support/store/stores.ts'
import { until } from '../../support/until.ts'

const DAY = 86_400_000

interface Page {
  readonly Deliveries: readonly { ReceiptID: string; OrderID?: string; Status: number }[]
  readonly NextCursor: string
}

/** A feed of which the first day was removed, but for what orders need. */
async function purgedFeed(emptyStore: EmptyStore) {
  const service = await testApp({ ...(await emptyStore()), TESLIM_TOKEN_TTL: '31536000' })
  const { app, store, clock, config } = service
  const one = await readingSupplier(service)
  const deliver = (OrderID: string, Status: number) => one.deliver({ OrderID, Status, n: clock.time++ })
  const feed = (query = '', headers = {}) => one.get(`/Purchase/feed${query}`, headers)
  const page = async (query = ''): Promise<Page> => (await feed(query)).json().data
  const purge = (before: number) =>
    purgeDeliveries(
      { purges: store.purges, yielding: (step) => step() },
      { before, orders: false, unsent: false, now: before },
    )
  const { purges, audit } = store
  const retention = () => createDeliveryRetention({ purges, audit }, clock, app.log, { ...config, retentionDays: 30 })
  const start = clock.time
  const old: { ReceiptID: string }[] = []
  for (const status of [1, 2, 3]) for (const order of ['A', 'B']) old.push(await deliver(order, status))
  clock.time = start + DAY
  const young = [await deliver('B', 0), await deliver('C', 1)]
  const cursors: string[] = []
  for (let after = ''; cursors.length < old.length + young.length; after = `&after=${cursors.at(-1)}`)
    cursors.push((await page(`?limit=1${after}`)).NextCursor)
  await purge(start + DAY)
  const left = [old[4], ...young].map((each) => each?.ReceiptID)
  return { service, store, clock, start, deliver, feed, page, purge, retention, young, cursors, left }
}

describe.each(storesOfRun())('the feed on %s, after a purge', (_kind, emptyStore) => {
  it('refuses a cursor before what was removed, says since when everything is there, and serves later ones', async () => {
    const { feed, page, young, cursors, left } = await purgedFeed(emptyStore)
    for (const cursor of cursors.slice(0, 5)) {
      for (const [query, headers] of [
        [`?after=${cursor}`, {}],
        [`?after=${cursor}&wait=30`, {}],
        [`?after=${cursor}`, { accept: 'text/event-stream' }],
        ['', { accept: 'text/event-stream', 'last-event-id': cursor }],
      ] as const) {
        const answer = await feed(query, headers)
        expect([answer.statusCode, answer.json()]).toEqual([
          410,
          {
            data: null,
            success: false,
            errorCode: 'CURSOR_PURGED',
            requestId: expect.any(String),
            message: `Deliveries that follow this cursor were removed because of their age. Without "after" the feed begins with the first delivery that is left: it has everything received since ${(young[0] as { ReceivedAt: string }).ReceivedAt}, and of what came before only what orders still need.`,
          },
        ])
      }
    }
    expect((await page(`?after=${cursors[5]}`)).Deliveries.map(({ ReceiptID }) => ReceiptID)).toEqual(left.slice(1))
    expect((await page(`?after=${cursors[7]}`)).Deliveries).toEqual([])
  })

  it('begins with the first that is left, one at a time, until another purge removes what comes next', async () => {
    const { start, deliver, feed, page, purge, cursors, left } = await purgedFeed(emptyStore)
    const seen: string[] = []
    let after = ''
    const read: string[] = []
    for (;;) {
      const { Deliveries, NextCursor } = await page(`?limit=1${after}`)
      if (Deliveries.length === 0) break
      seen.push(...Deliveries.map(({ ReceiptID }) => ReceiptID))
      read.push(NextCursor)
      after = `&after=${NextCursor}`
    }
    expect(seen).toEqual(left)
    await deliver('A', 0)
    await purge(start + DAY)
    // The delivery of A that was left is removed now: what follows the first place is no longer whole.
    expect((await feed(`?after=${cursors[5]}`)).statusCode).toBe(200)
    expect((await page()).Deliveries[0]?.ReceiptID).toBe(left[1])
  })

  it('ends a stream and a long poll that are overtaken by a purge, instead of skipping', async () => {
    const { clock, start, deliver, feed, page, purge } = await purgedFeed(emptyStore)
    clock.time = start + 2 * DAY
    const { NextCursor: cursor } = await page('?limit=1000')
    await deliver('D', 1)
    await deliver('D', 2)
    clock.time = start + 3 * DAY
    await purge(clock.time)
    expect((await feed(`?after=${cursor}&wait=30`)).json()).toMatchObject({ errorCode: 'CURSOR_PURGED' })
    const next = await page('?limit=1000')
    const waiting = page(`?after=${next.NextCursor}&wait=30`)
    const { ReceiptID } = await deliver('E', 1)
    expect((await waiting).Deliveries).toMatchObject([{ ReceiptID }])
  })

  it('the server removes by itself what its setting says, once a day, and records it', async () => {
    const { store, clock, start, deliver, page, retention } = await purgedFeed(emptyStore)
    const { runDue } = retention()
    clock.time = start + 2 * DAY
    await deliver('D', 1)
    await deliver('D', 2)
    clock.time = start + 39 * DAY - 1
    await deliver('F', 1)
    clock.time = start + 40 * DAY
    await deliver('E', 2)
    expect(await runDue()).toMatchObject({ orders: 0 })
    expect((await page('?limit=1000')).Deliveries.map(({ OrderID, Status }) => [OrderID, Status])).toEqual(
      expect.arrayContaining([
        ['A', 3],
        ['B', 0],
        ['C', 1],
        ['D', 2],
        ['F', 1],
        ['E', 2],
      ]),
    )
    expect((await page('?limit=1000')).Deliveries).toHaveLength(6)
    const events = await store.audit.list({ action: 'delivery.purge', limit: 10 })
    expect(events).toMatchObject([
      { actor: 'server', details: { before: new Date(start + 10 * DAY).toISOString(), orders: false } },
    ])
    expect(await runDue()).toBeUndefined()
    clock.time += DAY
    expect(await runDue()).toBeUndefined()
    clock.time += 1
    expect(await runDue()).toEqual({
      deliveries: 0,
      orders: 0,
      payloadBytes: 0,
      webhooks: [],
    })
  })

  it('the server removes too much by a day at most when its clock jumps ahead', async () => {
    const { clock, deliver, page, retention } = await purgedFeed(emptyStore)
    await deliver('F', 2)
    const before = (await page('?limit=1000')).Deliveries
    clock.time += 200 * DAY
    const { ReceiptID } = await deliver('F', 3)
    expect(await retention().runDue()).toMatchObject({ deliveries: 0 })
    expect((await page('?limit=1000')).Deliveries).toMatchObject([...before, { ReceiptID }])
  })

  it('orders go as soon as a server starts that is told so', async () => {
    const { service, store, clock, start, deliver, page } = await purgedFeed(emptyStore)
    clock.time = start + 38 * DAY - 1
    await deliver('E', 1)
    clock.time = start + 39 * DAY
    await deliver('F', 1)
    const next = await testAppBeside(service, {
      TESLIM_RETENTION_DAYS: '30',
      TESLIM_RETENTION_ORDERS: 'on',
      TESLIM_RETENTION_UNSENT: 'on',
    })
    next.clock.time = clock.time
    const removed = () => next.log.filter(({ msg }) => msg === 'old deliveries were removed')
    await until('the server has removed them', () => removed().length > 0)
    expect(removed()).toMatchObject([{ orders: 3 }])
    const [event] = await store.audit.list({ action: 'delivery.purge', limit: 10 })
    expect(event?.details).toMatchObject({ orders: true, unsent: true })
    expect(new Set((await page('?limit=1000')).Deliveries.map(({ OrderID }) => OrderID))).toEqual(new Set(['E', 'F']))
  })
})
