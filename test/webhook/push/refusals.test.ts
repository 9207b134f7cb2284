import { describe, expect, it } from 'vitest'
import { newId, systemRandom } from '#src/lib/random.ts'
import { customer, delivery } from '../../support/store/store-rows.ts'
import { storesOfRun } from '../../support/store/stores.ts'
import { until } from '../../support/until.ts'
import { addEndpoint, isCaughtUp, openTestStore, startPush, storedDeliveries } from '../../support/webhooks/push.ts'
import {
  accept,
  type Behaviour,
  firstArrivals,
  hang,
  type Received,
  startReceiver,
} from '../../support/webhooks/webhook-receiver.ts'

/** Refuses the orders that begin so. */
const refuses =
  (beginning: string, status = 422): Behaviour =>
  (received, response) =>
    void response.writeHead(received.order?.startsWith(beginning) ? status : 204).end()

describe.each(storesOfRun())('an endpoint on %s', (kind, emptyStore) => {
  const prepare = async () => {
    const store = await openTestStore((await emptyStore()).DATABASE_URL)
    const one = customer()
    await store.customers.insert(one)
    const deliver = (orderId: string) =>
      store.deliveries.deliver(delivery(one.id, { receiptId: newId(Date.now(), systemRandom), orderId }))
    const deliverAll = async (orders: readonly string[]): Promise<void> => {
      for (let at = 0; at < orders.length; at += 500) await Promise.all(orders.slice(at, at + 500).map(deliver))
    }
    return { store, deliver, deliverAll }
  }

  /** Each order in the order of its commits. */
  const expectInOrder = async (
    store: Awaited<ReturnType<typeof openTestStore>>,
    received: readonly Received[],
  ): Promise<void> => {
    const seen = firstArrivals(received)
    for (const [order, all] of Map.groupBy(await storedDeliveries(store), ({ orderId }) => orderId))
      expect(seen.get(String(order))).toEqual(all.map(({ receiptId }) => receiptId))
  }

  it.each([20, 1000])('that refused %i orders at once gets the next good one soon', async (count) => {
    const { store, deliver, deliverAll } = await prepare()
    const receiver = await startReceiver(refuses('bad'))
    const id = await addEndpoint(store, receiver.url)
    startPush(store)
    await deliverAll(Array.from({ length: count }, (_, number) => `bad-${number}`))
    await receiver.arrived(count, 30_000)
    const { receiptId } = await deliver('good')
    await until('the good one is there', () => receiver.received.some((each) => each.id === receiptId), {
      milliseconds: 5000,
    })
    await until('the refused ones wait', async () => {
      const found = await store.webhooks.find(id)
      return found?.failing === count && found.waiting === count && found.position >= count + 1
    })
    receiver.behave = accept
    await store.webhooks.remove(id)
  })

  // More than a process has in memory. On PostgreSQL each takes four times as long to be stored.
  const behind = kind === 'sqlite' ? 10_500 : 3000
  it(`has ${behind} deliveries behind an order that it refuses, which delay no other, and takes them in order when it is well`, async () => {
    const { store, deliver, deliverAll } = await prepare()
    const receiver = await startReceiver(refuses('bad'))
    const id = await addEndpoint(store, receiver.url)
    startPush(store)
    await deliver('bad')
    await receiver.arrived(1)
    await deliverAll(Array.from({ length: behind }, () => 'bad'))
    const { receiptId } = await deliver('good')
    await until('the good one is there', () => receiver.received.some((each) => each.id === receiptId), {
      milliseconds: 20_000,
    })
    await until('the others wait', async () => (await store.webhooks.find(id))?.waiting === behind + 1)
    expect(firstArrivals(receiver.received).get('bad')).toHaveLength(1)
    receiver.behave = accept
    await until('everything is confirmed', () => isCaughtUp(store, id), { milliseconds: 60_000 })
    await expectInOrder(store, receiver.received)
    expect(await store.webhooks.find(id)).toMatchObject({ waiting: 0, failing: 0, failingSince: null })
  })

  it('that refuses one order in ten keeps the order of each, the refused ones included', async () => {
    const { store, deliverAll } = await prepare()
    const refused = new Set<string>()
    const receiver = await startReceiver((received, response) => {
      const isRefused = received.order?.endsWith('7') && !refused.has(received.id)
      refused.add(received.id)
      response.writeHead(isRefused ? 400 : 200).end()
    })
    const id = await addEndpoint(store, receiver.url)
    startPush(store)
    await deliverAll(Array.from({ length: 200 }, (_, number) => `o${number % 40}`))
    await until('everything is confirmed', () => isCaughtUp(store, id), { milliseconds: 80_000 })
    await expectInOrder(store, receiver.received)
    for (const [order, ids] of Map.groupBy(receiver.received, ({ order: each = '' }) => each))
      expect(ids.length).toBe(order.endsWith('7') ? 10 : 5)
  })

  it('that does not answer gets one request at a time, and everything soon after its first answer, whatever that is', async () => {
    const { store, deliverAll } = await prepare()
    const receiver = await startReceiver(hang)
    const id = await addEndpoint(store, receiver.url)
    startPush(store, { sending: { timeoutMilliseconds: 2000 } })
    const orders = Array.from({ length: 300 }, (_, number) => `o${number}`)
    await deliverAll(orders)
    const silentUntil = async () => (await store.webhooks.find(id))?.silentUntil ?? null
    await until('it is found silent', async () => (await silentUntil()) !== null)
    const first = await silentUntil()
    // Those before it began earlier, and have as long.
    await until('the first trial has ended', async () => (await silentUntil()) !== first)
    const before = receiver.received.length
    // 32 at once, those that took the places of the first eight, and two trials.
    expect(before).toBeLessThanOrEqual(42)
    let most = 0
    receiver.behave = () => {
      most = Math.max(most, receiver.open())
    }
    await until('it was tried again twice', () => receiver.received.length >= before + 2)
    expect(most).toBe(1)
    // The first answer is a refusal.
    let answers = 0
    receiver.behave = (_received, response) => void response.writeHead(answers++ === 0 ? 404 : 200).end()
    await until('everything is confirmed', () => isCaughtUp(store, id), { milliseconds: 60_000 })
    expect(await store.webhooks.find(id)).toMatchObject({ silentUntil: null, waiting: 0 })
    expect(new Set(receiver.received.map(({ order }) => order)).size).toBe(300)
    // On a busy machine some are sent again later, too.
    const failed = (await store.webhooks.attempts(id, 500)).length
    expect(receiver.received.length - 300).toBeLessThanOrEqual(failed)
    expect(failed).toBeLessThan(500)
  })
})
