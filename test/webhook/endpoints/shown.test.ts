import { expect, it } from 'vitest'
import { shownAnswer } from '#src/webhook/endpoints/answers.ts'
import { endpointStage } from '../../support/webhooks/endpoint-stage.ts'

const iso = (milliseconds: number) => new Date(milliseconds).toISOString()

it('what fails and what is set aside is shown, and how old it is', async () => {
  const { endpoints, add, keep, deliver, now } = await endpointStage()
  const [oldest, two, three] = [
    await deliver(-9000, { orderId: 'PO-1' }),
    await deliver(-7000, { orderId: 'PO-2' }),
    await deliver(-5000),
  ]
  await deliver(-3000)
  const id = await add({ position: three.position })
  expect(await endpoints.show(id)).toMatchObject({ endpoint: { pending: 1, behindMilliseconds: 3000 } })
  const failed = { failures: 3, firstFailedAt: 5, lastError: 'status 500' }
  await keep(id, [{ ...oldest, ...failed, setAsideAt: 7 }, { ...two, ...failed, nextAt: 9 }, { ...three }])
  const row = { Failures: 3, FirstFailedAt: iso(5), Error: 'status 500' }
  expect(shownAnswer(await endpoints.show(id))).toMatchObject({
    Endpoint: {
      State: 'failing',
      Pending: 3,
      PendingAtLeast: false,
      Waiting: 2,
      Failing: 1,
      SetAside: 1,
      PurgedUnsent: 0,
      FailingSince: iso(now),
      NextTryAt: iso(9),
      BehindSeconds: 7,
    },
    Failing: [{ ...row, ReceiptID: two.receiptId, OrderID: 'PO-2', NextTryAt: iso(9) }],
    SetAside: [{ ...row, ReceiptID: oldest.receiptId, OrderID: 'PO-1', SetAsideAt: iso(7) }],
  })
  const replayed = await endpoints.replay(id, 'set-aside')
  expect([replayed.deliveries, replayed.endpoint.webhook.setAside]).toEqual([1, 0])
})

it('what fails is shown however much is set aside', async () => {
  const { endpoints, add, keep, now } = await endpointStage()
  const id = await add()
  const failed = { failures: 1, firstFailedAt: now, lastError: 'status 500' }
  const rows = Array.from({ length: 5200 }, (_, index) => ({ ...failed, receiptId: '', position: index, lane: index }))
  await keep(
    id,
    rows.map((row, index) => ({ ...row, ...(index < 5000 ? { setAsideAt: now } : { nextAt: now }) })),
  )
  const { Endpoint, Failing, SetAside } = shownAnswer(await endpoints.show(id))
  expect([Endpoint.Failing, Failing.length, Endpoint.SetAside, SetAside.length]).toEqual([200, 100, 5000, 100])
})

it('an endpoint counts as pending only what it gets', async () => {
  const { endpoints, add, deliver, one, other } = await endpointStage()
  const before = await deliver(-9000)
  for (let n = 0; n < 3; n++) await deliver(-2000, { status: 1 }, other)
  await deliver(-1000, { status: 0 })
  await deliver(-500, { status: 3 })
  const pendingOf = async (settings: object) => {
    const { endpoint } = await endpoints.show(await add({ position: before.position, ...settings }))
    return [endpoint.pending, endpoint.pendingAtLeast, endpoint.behindMilliseconds]
  }
  expect(await pendingOf({})).toEqual([5, false, 2000])
  expect(await pendingOf({ customerId: one.id })).toEqual([2, false, 1000])
  expect(await pendingOf({ customerId: one.id, statuses: [3] })).toEqual([1, false, 500])
  expect(await pendingOf({ statuses: [0, 3] })).toEqual([2, false, 1000])
  expect(await pendingOf({ statuses: [2] })).toEqual([0, false, 0])
})

it('counting stops early, which is said', async () => {
  const { endpoints, add, store, deliver, one } = await endpointStage()
  const before = await deliver(-9000)
  for (let n = 0; n < 1001; n += 91) await Promise.all(Array.from({ length: 91 }, () => deliver(-1000)))
  const pendingOf = async (settings: object) =>
    (await endpoints.show(await add({ position: before.position, ...settings }))).endpoint
  expect(await pendingOf({ customerId: one.id })).toMatchObject({ pending: 1000, pendingAtLeast: true })
  expect(await pendingOf({})).toMatchObject({ pending: 1001, pendingAtLeast: false })
  expect(await store.deliveries.countAfter(before.position)).toBe(1001)
})

it('the next try that is shown is the real one', async () => {
  const { endpoints, add, storeProgress, keep, deliver, now } = await endpointStage()
  const one = await deliver(-1000)
  const id = await add({ position: one.position })
  const shown = async () => {
    const { Endpoint, Failing } = shownAnswer(await endpoints.show(id))
    const [told] = await endpoints.fates(id, { receiptId: one.receiptId })
    const times = [Endpoint.NextTryAt, Failing[0]?.NextTryAt ?? null, told?.nextTryAt ? iso(told.nextTryAt) : null]
    return [Endpoint.State, ...new Set(times)]
  }
  expect(await shown()).toEqual(['active', null])
  await keep(id, [{ ...one, failures: 1, firstFailedAt: now, nextAt: now + 1000 }])
  expect(await shown()).toEqual(['failing', iso(now + 1000)])
  await storeProgress(id, { silentUntil: now + 60_000 })
  expect(await shown()).toEqual(['failing', iso(now + 60_000)])
  await endpoints.pause(id)
  expect(await shown()).toEqual(['paused', null])
  await endpoints.resume(id)
  await storeProgress(id, { silentUntil: now + 60_000, settled: [one] })
  // Nothing has failed that still waits, but nobody knows yet whether it answers.
  expect((await endpoints.show(id)).endpoint).toMatchObject({ standing: 'failing', webhook: { failing: 0 } })
})
