import { describe, expect, it } from 'vitest'
import { checkHeldBack } from '#src/doctor/webhooks.ts'
import { createMetrics } from '#src/lib/metrics.ts'
import { describeUnsent } from '#src/purchase/purge/held.ts'
import { createDeliveryRetention } from '#src/purchase/purge/retention.ts'
import { seriesOf } from '../support/app/scrape.ts'
import { readingSupplier } from '../support/app/supplier.ts'
import { type TestApp, testApp } from '../support/app/test-app.ts'
import { type EmptyStore, storesOfRun } from '../support/store/stores.ts'
import { addEndpointWith, pausedAt, saveProgress } from '../support/webhooks/unsent.ts'

const DAY = 86_400_000
const KEPT = 'old deliveries stay, because a webhook endpoint has not taken them'
const REMOVED = 'deliveries were removed that a webhook endpoint had not taken'

/** A store with six deliveries that are 31 days old, three of each order, and young ones. */
async function oldDeliveries(emptyStore: EmptyStore, more = {}) {
  const service = await testApp(await emptyStore(), { withThreads: true })
  const { store, clock } = service
  const config = { ...service.config, retentionDays: 30, ...more }
  const one = await readingSupplier(service)
  const deliver = (OrderID: string, Status: number) => one.deliver({ OrderID, Status, n: service.clock.time++ })
  for (const status of [1, 2, 3]) for (const order of ['A', 'B']) await deliver(order, status)
  service.clock.time += 31 * DAY
  for (const order of ['A', 'B']) await deliver(order, 0)
  /** What a server of its own would remove, log and count. */
  const replica = () => {
    const log: { readonly msg: string; readonly endpoint?: string; readonly deliveries?: number }[] = []
    const note = (details: object, msg: string) => void log.push({ ...details, msg })
    const { runDue } = createDeliveryRetention(store, clock, { info: note, warn: note }, config)
    const metrics = createMetrics()
    describeUnsent(metrics, store, config)
    return { runDue, log, metrics }
  }
  return { service, config, deliver, replica }
}

type Replica = ReturnType<Awaited<ReturnType<typeof oldDeliveries>>['replica']>

/** Adds an endpoint that is paused since a time, so that nothing is sent to it. */
async function addPaused({ store }: TestApp, position: number, since: number): Promise<string> {
  const id = await addEndpointWith(store, { position })
  await store.webhooks.change(id, pausedAt(since))
  return id
}

const left = async ({ store }: TestApp) =>
  (await store.deliveries.after(0, {}, { limit: 100, scan: 100 })).deliveries.length

const metricsOf = async ({ metrics }: Replica, name: string) =>
  [...seriesOf(await metrics.text('text'))].filter(([series]) => series.startsWith(`${name}{`))

const lines = ({ log }: Replica, text: string) =>
  log.filter(({ msg }) => msg === text).map(({ endpoint, deliveries }) => ({ endpoint, deliveries }))

describe.each(storesOfRun())('retention on %s', (_kind, emptyStore) => {
  it('keeps what an endpoint has not taken, which log, doctor and metric tell once a day, until it has', async () => {
    const { service, config, deliver, replica } = await oldDeliveries(emptyStore)
    const { store, clock } = service
    const id = await addPaused(service, 2, clock.time)
    clock.time += DAY
    await deliver('C', 1)
    clock.time += DAY + 1
    const first = replica()
    expect(await first.runDue()).toMatchObject({
      deliveries: 2,
      webhooks: [{ id, kept: 4, removed: 0 }],
    })
    expect(await left(service)).toBe(7)
    expect(lines(first, KEPT)).toEqual([{ endpoint: id, deliveries: 4 }])
    expect(await first.runDue()).toBeUndefined()
    for (const each of [first, replica()]) {
      expect(await metricsOf(each, 'teslim_retention_held')).toEqual([[`teslim_retention_held{endpoint="${id}"}`, 4]])
    }
    expect(await checkHeldBack(store, config)).toEqual([
      expect.objectContaining({
        name: 'retention',
        status: 'warning',
        message: expect.stringContaining(
          `: ${id} (4 deliveries): see teslim webhook show ID; teslim purge --older 30d`,
        ),
      }),
    ])
    expect(await checkHeldBack(store, { ...config, retentionUnsent: 'on' })).toEqual([])

    clock.time += DAY
    await deliver('C', 2)
    clock.time += DAY + 1
    const replicas = [replica(), replica()]
    // One of the two.
    const both = await Promise.all(replicas.map(({ runDue }) => runDue()))
    expect(both.filter((report) => report !== undefined)).toMatchObject([
      { deliveries: 0, webhooks: [{ id, kept: 4 }] },
    ])
    expect(replicas.flatMap((each) => lines(each, KEPT))).toHaveLength(1)

    await store.webhooks.change(id, { paused: null })
    await saveProgress(store, id, { position: 6 })
    await store.webhooks.change(id, pausedAt(clock.time))
    expect(await metricsOf(first, 'teslim_retention_held')).toEqual([])
    expect(await checkHeldBack(store, config)).toEqual([])
    clock.time += DAY
    await deliver('C', 3)
    clock.time += DAY + 1
    expect(await replica().runDue()).toMatchObject({ deliveries: 4, webhooks: [] })
    expect((await store.webhooks.find(id))?.removedUnsent).toBe(0)
  })

  it.each([
    ['TESLIM_RETENTION_UNSENT=on', 1, { retentionUnsent: 'on' }],
    ['a pause of more than 30 days', 31, {}],
  ])('removes and counts what is unsent with %s', async (_why, pausedDays, more) => {
    const { service, deliver, replica } = await oldDeliveries(emptyStore, more)
    const { clock } = service
    const id = await addPaused(service, 2, clock.time - pausedDays * DAY)
    clock.time += DAY
    await deliver('C', 1)
    clock.time += DAY + 1
    const purging = replica()
    expect(await purging.runDue()).toMatchObject({
      deliveries: 6,
      webhooks: [{ id, kept: 0, removed: 4 }],
    })
    expect(lines(purging, REMOVED)).toEqual([{ endpoint: id, deliveries: 4 }])
    expect([lines(purging, KEPT), await metricsOf(purging, 'teslim_retention_held')]).toEqual([[], []])
    for (const each of [purging, replica()]) {
      expect(await metricsOf(each, 'teslim_webhook_purged_unsent_total')).toEqual([
        [`teslim_webhook_purged_unsent_total{endpoint="${id}"}`, 4],
      ])
    }
  })
})
