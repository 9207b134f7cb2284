import { randomUUID } from 'node:crypto'
import { expect } from 'vitest'
import { loadConfig } from '#src/config/load-config.ts'
import { systemClock } from '#src/lib/clock.ts'
import { createMetrics } from '#src/lib/metrics.ts'
import { newId, systemRandom } from '#src/lib/random.ts'
import type { DeliverySummary, NewDelivery, NewWebhook, Store } from '#src/store/store.ts'
import { openPush, type PushOptions } from '#src/webhook/push/push.ts'
import { generateSecret } from '#src/webhook/send/signature.ts'
import { atTheEnd } from '../at-the-end.ts'
import { WEBHOOK_ALLOW } from '../network/allowed-ports.ts'
import { customer, delivery, webhook } from '../store/store-rows.ts'
import { openTestStore } from '../store/test-store.ts'
import { until } from '../until.ts'
import { type Behaviour, firstArrivals, type Received, startReceiver } from './webhook-receiver.ts'

/** A store with a customer that delivers. */
export async function pushStage(databaseUrl?: string) {
  const store = await openTestStore(databaseUrl)
  const one = customer()
  await store.customers.insert(one)
  const deliver = (more: Partial<NewDelivery> = {}) => {
    const { receivedAt = Date.now() } = more
    const wanted = { receiptId: newId(receivedAt, systemRandom), receivedAt, ...more }
    return store.deliveries.deliver(delivery(one.id, wanted))
  }
  /** One of each order, in their order. */
  const deliverAll = async (orders: readonly string[]): Promise<void> => {
    for (let at = 0; at < orders.length; at += 500)
      await Promise.all(orders.slice(at, at + 500).map((orderId) => deliver({ orderId })))
  }
  const deliverMany = (count: number, orders: number) =>
    deliverAll(Array.from({ length: count }, (_, index) => `o${index % orders}`))
  const caughtUp = (id: string, milliseconds = 30_000) =>
    until('everything is confirmed', () => isCaughtUp(store, id), { milliseconds })
  return { store, customerId: one.id, deliver, deliverAll, deliverMany, caughtUp }
}

export interface Line {
  readonly level: string
  readonly details: Record<string, unknown>
  readonly message: string
}

/** Starts to push what a store has, as one server does. Ends with the test, before the store. */
export function startPush(store: Store, more: Partial<PushOptions> = {}) {
  const log: Line[] = []
  const write = (level: string) => (details: object, message: string) =>
    void log.push({ level, details: { ...details }, message })
  const metrics = createMetrics()
  const { config } = loadConfig(WEBHOOK_ALLOW)
  const push = openPush({
    config,
    store,
    clock: systemClock,
    random: systemRandom,
    metrics,
    holder: randomUUID(),
    log: { info: write('info'), warn: write('warn'), error: write('error') },
    ...more,
  })
  atTheEnd(() => push.stop())
  push.start()
  return { ...push, log, metrics }
}

/** Adds an endpoint with a secret that is stored as it is. */
export async function addEndpoint(store: Store, url: string, more: Partial<NewWebhook> = {}): Promise<string> {
  const added = webhook({ id: randomUUID(), url, secret: generateSecret(systemRandom), ...more })
  await store.webhooks.add(added)
  return added.id
}

/** A store with an endpoint that it pushes to. */
export async function pushingStage(behave?: Behaviour, endpoint?: Partial<NewWebhook>) {
  const { caughtUp, ...stage } = await pushStage()
  const receiver = await startReceiver(behave)
  const id = await addEndpoint(stage.store, receiver.url, endpoint)
  return { ...stage, receiver, id, push: startPush(stage.store), caughtUp: () => caughtUp(id) }
}

/** Every delivery that the store has, in the order of commits. */
export async function storedDeliveries(store: Store): Promise<DeliverySummary[]> {
  const all: DeliverySummary[] = []
  for (let position = 0; ; ) {
    const page = await store.deliveries.after(position, {}, { limit: 1000, scan: 10_000 })
    all.push(...page.deliveries)
    if (page.position === position) return all
    position = page.position
  }
}

/** Fails unless everything arrived, each order in the order of its commits. */
export async function expectInOrder(store: Store, received: readonly Received[]): Promise<void> {
  const seen = firstArrivals(received)
  for (const [order, all] of Map.groupBy(await storedDeliveries(store), ({ orderId }) => String(orderId)))
    expect(seen.get(order)).toEqual(all.map(({ receiptId }) => receiptId))
}

/** Whether nothing is left to be sent to an endpoint. */
export async function isCaughtUp(store: Store, id: string): Promise<boolean> {
  const endpoint = await store.webhooks.find(id)
  if (endpoint?.waiting !== 0) return false
  // Only what comes after its place: a test asks a hundred times.
  return (await store.deliveries.after(endpoint.position, {}, { limit: 1, scan: 1 })).deliveries.length === 0
}
