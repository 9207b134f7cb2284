import { expect, it } from 'vitest'
import { newId, systemRandom } from '#src/lib/random.ts'
import { toldAnswer } from '#src/webhook/endpoints/answers.ts'
import { purge } from '../../store/conformance/purging.ts'
import { customer } from '../../support/store/store-rows.ts'
import { storesOfRun } from '../../support/store/stores.ts'
import { endpointStage } from '../../support/webhooks/endpoint-stage.ts'

const iso = (milliseconds: number) => new Date(milliseconds).toISOString()
const HOUR = 3_600_000

it('what became of each delivery of an order is told, the newest first', async () => {
  const { endpoints, add, deliver, storeProgress, clock, one, other, now } = await endpointStage()
  const orderId = 'PO-1'
  const status = [1, 2, 1, 3, 1, 0, 1, 2] as const
  const made: Awaited<ReturnType<typeof deliver>>[] = []
  for (const each of status)
    made.push(await deliver(-HOUR, { orderId, status: each, payload: Buffer.from(`${made.length}`) }))
  await deliver(-HOUR, { orderId: 'PO-2', status: 1 })
  const [longAgo, , confirmed, failing, behind, , unread, notWanted] = made as [(typeof made)[0], ...typeof made]
  const setAside = made[5] as (typeof made)[0]
  const id = await add({ position: setAside.position, statuses: [0, 1, 3] })
  const failed = { failures: 4, firstFailedAt: now - 5000, lastError: 'status 422' }
  const waits = { failures: 0, firstFailedAt: null, nextAt: null, setAsideAt: null, lastError: null, answered: true }
  const rowOf = ({ receiptId: _receipt, ...row }: (typeof made)[0], more: object) => ({ ...waits, ...row, ...more })
  await storeProgress(id, {
    confirmed: [{ position: confirmed?.position ?? 0, status: 204, milliseconds: 12 }],
    kept: [
      rowOf(failing as never, { ...failed, nextAt: now + 9000 }),
      rowOf(behind as never, {}),
      rowOf(setAside, { ...failed, setAsideAt: now - 1000 }),
    ],
  })
  const told = (await endpoints.fates(id, { orderId })).map(toldAnswer)
  const known = { OrderID: orderId, Duplicate: false, ReceivedAt: iso(now - HOUR) }
  const nothing = { At: null, AnswerStatus: null, Milliseconds: null, Failures: 0, Error: null, NextTryAt: null }
  const why = { ...nothing, Failures: 4, Error: 'status 422' }
  expect(told).toEqual(
    [
      { ...nothing, State: 'not-wanted' },
      { ...nothing, State: 'waiting' },
      { ...why, State: 'set-aside', At: iso(now - 1000) },
      { ...nothing, State: 'waiting' },
      { ...why, State: 'failing', At: iso(now - 5000), NextTryAt: iso(now + 9000) },
      { ...nothing, State: 'confirmed', At: iso(clock.now()), AnswerStatus: 204, Milliseconds: 12 },
      { ...nothing, State: 'not-wanted' },
      { ...nothing, State: 'confirmed' },
    ].map((each, place) => ({
      ...known,
      ...each,
      Status: status.at(-1 - place),
      ReceiptID: made.at(-1 - place)?.receiptId,
    })),
  )
  for (const each of [longAgo, confirmed, failing, unread, notWanted]) {
    const receiptId = each?.receiptId ?? ''
    const [only] = (await endpoints.fates(id, { receiptId: receiptId.toUpperCase() })).map(toldAnswer)
    expect(only).toEqual(told.find(({ ReceiptID }) => ReceiptID === receiptId))
  }

  // Somebody else has an order of the same id. An endpoint of several customers asks whose is meant.
  await deliver(-HOUR, { orderId, status: 1 }, other)
  await expect(endpoints.fates(id, { orderId })).rejects.toMatchObject({ code: 'ORDER_AMBIGUOUS' })
  expect(await endpoints.fates(id, { orderId, customer: one.email })).toHaveLength(8)
  expect(await endpoints.fates(id, { orderId, customer: other.id })).toMatchObject([{ state: 'waiting' }])
  const own = await add({ customerId: other.id })
  expect(await endpoints.fates(own, { orderId })).toMatchObject([{ state: 'waiting' }])
  const foreign = { state: 'not-wanted', delivery: { status: 1 } }
  expect(await endpoints.fates(own, { receiptId: longAgo.receiptId })).toMatchObject([foreign])
  for (const unknown of ['PO-3', 'x\0', '\ud800'])
    await expect(endpoints.fates(id, { orderId: unknown })).rejects.toMatchObject({ code: 'ORDER_NOT_FOUND' })
  await expect(endpoints.fates(id, { orderId, customer: 'nobody@b.co' })).rejects.toMatchObject({
    code: 'CUSTOMER_NOT_FOUND',
  })
})

it.each(storesOfRun())(
  'what an endpoint of one customer does not get of others is told on %s',
  async (_kind, emptyStore) => {
    const { DATABASE_URL } = await emptyStore()
    const { endpoints, add, deliver, store, one, other } = await endpointStage(DATABASE_URL)
    const third = customer()
    await store.customers.insert(third)
    const own = await deliver(-HOUR, { orderId: 'of two' })
    const [theirs, foreign] = [
      await deliver(-HOUR, { orderId: 'of two' }, other),
      await deliver(-HOUR, { orderId: 'foreign' }, other),
    ]
    for (const who of [other, third]) await deliver(-HOUR, { orderId: 'of others' }, who)
    const [id, all] = [await add({ customerId: one.id }), await add()]
    const told = async (endpoint: string, which: Parameters<typeof endpoints.fates>[1]) =>
      (await endpoints.fates(endpoint, which)).map(({ receiptId, state }) => [receiptId, state])
    const refused = (endpoint: string, orderId: string) =>
      told(endpoint, { orderId }).then(undefined, ({ code }: { readonly code: string }) => code)

    expect(await told(id, { orderId: 'foreign' })).toEqual([[foreign.receiptId, 'not-wanted']])
    expect(await told(id, { receiptId: foreign.receiptId })).toEqual([[foreign.receiptId, 'not-wanted']])
    expect(await told(all, { orderId: 'foreign' })).toEqual([[foreign.receiptId, 'waiting']])
    // Of an order that several have its own, unless another one is asked for.
    expect(await told(id, { orderId: 'of two' })).toEqual([[own.receiptId, 'waiting']])
    expect(await told(id, { orderId: 'of two', customer: other.id })).toEqual([[theirs.receiptId, 'not-wanted']])
    for (const endpoint of [id, all]) {
      expect(await refused(endpoint, 'of others')).toBe('ORDER_AMBIGUOUS')
      expect(await refused(endpoint, 'of nobody')).toBe('ORDER_NOT_FOUND')
    }
    expect(await refused(all, 'of two')).toBe('ORDER_AMBIGUOUS')
    const foreignTo = { orderId: 'foreign', customer: one.id }
    await expect(endpoints.fates(id, foreignTo)).rejects.toMatchObject({ code: 'ORDER_NOT_FOUND' })
    // There is nothing to send again.
    await expect(endpoints.replay(id, { orderId: 'foreign' })).rejects.toMatchObject({ code: 'ORDER_NOT_FOUND' })
  },
)

it('a receipt from before what a purge left is told as purged', async () => {
  const { endpoints, add, deliver, clock, store } = await endpointStage()
  const id = await add()
  const gone = await deliver(-HOUR, { orderId: 'A' })
  const missing = { receiptId: newId(clock.now() - 2 * HOUR, systemRandom) }
  await expect(endpoints.fates(id, missing)).rejects.toMatchObject({ code: 'DELIVERY_NOT_FOUND' })
  await deliver(-1000, { orderId: 'A' })
  await store.webhooks.remove(id)
  await purge(store, clock.now() - HOUR / 2)
  const later = await add()
  expect((await endpoints.fates(later, { receiptId: gone.receiptId })).map(toldAnswer)).toMatchObject([
    { ReceiptID: gone.receiptId, State: 'purged', ReceivedAt: null, OrderID: null, Status: null },
  ])
  for (const receiptId of [newId(clock.now(), systemRandom), 'PO-1', '01a1fd40-0c1e-4b52-9a0f-3f5d2c1b7e64'])
    await expect(endpoints.fates(later, { receiptId })).rejects.toMatchObject({ code: 'DELIVERY_NOT_FOUND' })
})
