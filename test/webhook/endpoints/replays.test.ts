import { expect, it } from 'vitest'
import { endpointAnswer } from '#src/webhook/endpoints/answers.ts'
import { endpointStage, type Stored } from '../../support/webhooks/endpoint-stage.ts'

const HOUR = 3_600_000
const iso = (milliseconds: number) => new Date(milliseconds).toISOString()

it('a stretch is sent again once at a time, and shows how far it is', async () => {
  const { endpoints, add, deliver, store, one, now } = await endpointStage()
  const made: Stored[] = []
  for (const [hours, status] of [
    [9, 1],
    [7, 3],
    [5, 1],
    [0.1, 3],
  ] as const)
    made.push(await deliver(-hours * HOUR, { status }))
  const [first, second, third, last] = made as [Stored, Stored, Stored, Stored]
  const id = await add({ position: third.position, customerId: one.id })
  const { Cursor } = endpointAnswer((await endpoints.show(id)).endpoint)
  const begun = await endpoints.replay(id, { begin: { time: now - 8 * HOUR }, statuses: [3, 1, 3] })
  expect(begun.deliveries).toBe(2)
  const replay = {
    BeganAt: iso(now),
    From: iso(now - 7 * HOUR),
    To: iso(now - 5 * HOUR),
    Statuses: [1, 3],
    Added: 0,
    Percent: 0,
  }
  expect(endpointAnswer(begun.endpoint)).toMatchObject({ State: 'active', Replay: replay, Waiting: 0 })
  for (const again of [{ begin: 'start' as const }, { begin: { cursor: Cursor } }])
    await expect(endpoints.replay(id, again)).rejects.toMatchObject({ code: 'WEBHOOK_REPLAY_RUNNING' })

  await store.webhooks.hold('me', 60_000, 10)
  const page = { deliveries: [{ position: second.position, lane: second.lane }], position: second.position }
  await store.webhooks.addReplayed('me', id, now, page, now)
  const { endpoint } = await endpoints.show(id)
  // What is sent again is old, and makes nobody late.
  expect(endpointAnswer(endpoint)).toMatchObject({ Replay: { Added: 1, Percent: 50 }, Waiting: 1, Failing: 0 })
  expect(endpoint.behindMilliseconds).toBe(0.1 * HOUR)

  const cancelled = await endpoints.cancelReplay(id)
  expect([cancelled.deliveries, endpointAnswer(cancelled.endpoint)]).toMatchObject([1, { Replay: null, Waiting: 1 }])
  expect((await endpoints.cancelReplay(id)).deliveries).toBe(0)

  const stretchOf = async (what: Parameters<typeof endpoints.replay>[1]) => {
    const { deliveries, endpoint } = await endpoints.replay(id, what)
    await endpoints.cancelReplay(id)
    const { replay } = endpoint.webhook
    return replay && { from: replay.from, until: replay.until, deliveries }
  }
  const until = third.position
  expect(await stretchOf({ begin: 'start' })).toMatchObject({ from: 0, until })
  expect(await stretchOf({ begin: 'start', end: { time: now - 6 * HOUR } })).toMatchObject({ until: second.position })
  // What was not sent yet is sent anyway.
  expect(await stretchOf({ begin: { time: now - 6 * HOUR }, end: { time: now } })).toMatchObject({ until })
  expect(await stretchOf({ begin: { time: now - 4 * HOUR } })).toBeNull()
  expect(await stretchOf({ begin: { time: now - 6 * HOUR }, end: { time: now - 8 * HOUR } })).toBeNull()
  expect(await stretchOf({ begin: { cursor: Cursor } })).toBeNull()
  const upTo = { begin: 'start', end: { cursor: Cursor } } as const
  expect(await stretchOf(upTo)).toMatchObject({ from: 0, until, deliveries: until })
  const wrong = { begin: 'start', end: { cursor: 'cAAAA' } } as const
  await expect(endpoints.replay(id, wrong)).rejects.toMatchObject({ code: 'CURSOR_INVALID' })
  expect(last.position).toBeGreaterThan(until)
  expect(first.position).toBeGreaterThan(0)
})

it('all deliveries of an order that were sent are sent again at once', async () => {
  const { endpoints, add, deliver, store, clock, one, other, now } = await endpointStage()
  const made: Stored[] = []
  for (const [hours, status] of [
    [9, 1],
    [7, 2],
    [5, 3],
    [3, 1],
  ] as const)
    made.push(await deliver(-hours * HOUR, { orderId: 'PO-1', status }))
  const position = made[2]?.position ?? 0
  await deliver(-HOUR, { orderId: 'PO-2', status: 1 })
  const waitingAt = async (id: string) =>
    (await store.webhooks.due(id, clock.now(), 100)).deliveries.map(({ position }) => position)
  const positions = (...which: number[]) => which.map((index) => made[index]?.position)

  const all = await add({ position, statuses: [1, 3] })
  expect((await endpoints.replay(all, { orderId: 'PO-1' })).deliveries).toBe(2)
  expect(await waitingAt(all)).toEqual(positions(0, 2))
  expect((await endpoints.replay(all, { orderId: 'PO-1' })).deliveries).toBe(0)
  const some = await add({ position })
  expect((await endpoints.replay(some, { orderId: 'PO-1', statuses: [2] })).deliveries).toBe(1)
  const since = { orderId: 'PO-1', begin: { time: now - 6 * HOUR } }
  expect((await endpoints.replay(some, since)).deliveries).toBe(1)
  expect(await waitingAt(some)).toEqual(positions(1, 2))

  await deliver(-HOUR, { orderId: 'PO-1', status: 1 }, other)
  const ambiguous = { code: 'ORDER_AMBIGUOUS', message: expect.not.stringContaining('?customer') }
  await expect(endpoints.replay(some, { orderId: 'PO-1' })).rejects.toMatchObject(ambiguous)
  expect((await endpoints.replay(some, { orderId: 'PO-1', customer: one.email })).deliveries).toBe(1)
  const own = await add({ position, customerId: one.id })
  expect((await endpoints.replay(own, { orderId: 'PO-1' })).deliveries).toBe(3)
  await expect(endpoints.replay(own, { orderId: 'PO-3' })).rejects.toMatchObject({ code: 'ORDER_NOT_FOUND' })
})
