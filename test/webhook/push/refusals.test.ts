import { expect, it } from 'vitest'
import { seriesOf } from '../../support/app/scrape.ts'
import { until } from '../../support/until.ts'
import { expectInOrder, pushingStage } from '../../support/webhooks/push.ts'
import { accept, type Behaviour, firstArrivals } from '../../support/webhooks/webhook-receiver.ts'

/** Refuses the orders that begin so. */
const refuses =
  (beginning: string): Behaviour =>
  (received, response) =>
    void response.writeHead(received.order?.startsWith(beginning) ? 422 : 204).end()

it.each([20, 1000])('an endpoint that refused %i orders at once gets the next good one soon', async (count) => {
  const { store, deliver, deliverAll, receiver, id } = await pushingStage(refuses('bad'))
  await deliverAll(Array.from({ length: count }, (_, number) => `bad-${number}`))
  await receiver.arrived(count, 30_000)
  const { receiptId } = await deliver({ orderId: 'good' })
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

it('more than is in memory waits behind an order that is refused, delays no other, and is sent in order in the end', async () => {
  const { store, deliver, deliverAll, caughtUp, receiver, id, push } = await pushingStage(refuses('bad'))
  await deliver({ orderId: 'bad' })
  await receiver.arrived(1)
  const behind = 1500
  await deliverAll(Array.from({ length: behind }, () => 'bad'))
  const { receiptId } = await deliver({ orderId: 'good' })
  await until('the good one is there', () => receiver.received.some((each) => each.id === receiptId))
  await until('the others wait', async () => (await store.webhooks.find(id))?.waiting === behind + 1)
  expect(firstArrivals(receiver.received).get('bad')).toHaveLength(1)
  expect(await store.webhooks.attempts(id, 1)).toMatchObject([{ status: 422, error: 'status 422' }])
  const series = seriesOf(await push.metrics.text('text'))
  expect(series.get(`teslim_webhook_pending{endpoint="${id}"}`)).toBe(behind + 1)
  expect(series.get(`teslim_webhook_behind_seconds{endpoint="${id}"}`)).toBeGreaterThan(0)
  expect(series.get(`teslim_webhook_attempts_total{endpoint="${id}",outcome="success"}`)).toBe(1)
  expect(series.get(`teslim_webhook_paused{endpoint="${id}",reason="none"}`)).toBe(0)
  expect(series.get('teslim_webhook_delay_seconds_count')).toBe(1)
  receiver.behave = accept
  await caughtUp()
  await expectInOrder(store, receiver.received)
  expect(await store.webhooks.find(id)).toMatchObject({ waiting: 0, failing: 0, failingSince: null })
})

it('an endpoint that refuses each delivery of one order in ten once gets each order in order', async () => {
  const refused = new Set<string>()
  const { store, deliverMany, caughtUp, receiver } = await pushingStage((received, response) => {
    const isRefused = received.order?.endsWith('7') && !refused.has(received.id)
    refused.add(received.id)
    response.writeHead(isRefused ? 400 : 200).end()
  })
  await deliverMany(80, 40)
  await caughtUp()
  await expectInOrder(store, receiver.received)
  for (const [order, ids] of Map.groupBy(receiver.received, ({ order: each = '' }) => each))
    expect(ids.length).toBe(order.endsWith('7') ? 4 : 2)
})
