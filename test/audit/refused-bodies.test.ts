import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createRefusedBodies } from '#src/audit/refused-bodies.ts'
import { makeApiKey } from '#src/customer/api-key.ts'
import { AppError } from '#src/lib/app-error.ts'
import { createMetrics } from '#src/lib/metrics.ts'
import { newId, systemRandom } from '#src/lib/random.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import type { NewRefusedBody, RefusedStore } from '#src/store/store.ts'
import { inEnglish } from '../support/app/in-english.ts'
import { addSupplier } from '../support/app/supplier.ts'
import { type TestApp, testApp } from '../support/app/test-app.ts'
import { auditEvent } from '../support/store/store-rows.ts'
import { storesOfRun } from '../support/store/stores.ts'
import { until } from '../support/until.ts'

const DAY = 86_400_000

async function supplierOf(service: TestApp) {
  const { app } = service
  const supplier = await addSupplier(service, { authority: ['SKU-*'] })
  const deliver = async (payload: string | Buffer, key: string | undefined = supplier.key, headers = {}) => {
    const answer = await app.inject({
      method: 'POST',
      url: '/Purchase/update',
      headers: { ...(key !== '' && { ApiKey: key }), ...headers },
      payload,
    })
    await app.flushRefusals()
    return answer
  }
  const get = (url: string, key = supplier.key) => app.inject({ url, headers: { ApiKey: key } })
  const kept = () => service.store.refused.list({ customerId: supplier.customer.id, limit: 1000 })
  return { ...supplier, deliver, get, kept }
}

describe.each(storesOfRun())('with TESLIM_KEEP_REFUSED=known on %s', async (_name, emptyStore) => {
  const service = await testApp({ ...(await emptyStore()), TESLIM_KEEP_REFUSED: 'known', TESLIM_BODY_LIMIT: '2048' })
  const { app, clock, store, customers } = service

  it.each([
    ['a wrong Status', Buffer.from('{"Status":7,"OrderID":"PO-1","ü":1.0}\n'), 'INVALID_REQUEST', 'PO-1'],
    ['a product that is not allowed', Buffer.from('{"Status":1,"ProductID":"X"}'), 'PRODUCT_NOT_AUTHORIZED', null],
    ['a body that is no JSON', Buffer.from('OrderID=PO-1&Status=1\0'), 'BODY_NOT_JSON', null],
    ['a body that is not UTF-8', Buffer.from([0x7b, 0xff, 0xfe, 0x00]), 'BODY_NOT_UTF8', null],
    ['a body that is too deep', Buffer.from('['.repeat(99)), 'BODY_TOO_DEEP', null],
  ])('%s is kept to the byte, and the supplier reads it back', async (_what, body, errorCode, orderId) => {
    const { deliver, get, kept, keyId, customer } = await supplierOf(service)
    const { requestId, message } = (await deliver(body)).json()
    const [one, ...others] = await kept()
    expect(others).toEqual([])
    expect(one && inEnglish(one)).toEqual({
      refusalId: expect.any(String),
      at: clock.now(),
      customerId: customer.id,
      keyId,
      keyLabel: 'test',
      orderId,
      errorCode,
      message,
      requestId,
      address: '127.0.0.1',
      payloadBytes: body.length,
    })
    expect(await store.audit.list({ requestId, limit: 9 })).toMatchObject([{ refusalId: one?.refusalId }])
    const { Refusals } = (await get('/Supplier/refusals')).json().data
    expect(Refusals).toMatchObject([{ RefusalID: one?.refusalId, PayloadBytes: body.length, ErrorCode: errorCode }])
    expect(Refusals[0].OrderID).toBe(orderId ?? undefined)
    const answer = await get(`/Supplier/refusal/${one?.refusalId.toUpperCase()}/payload`)
    expect([answer.statusCode, answer.rawPayload]).toEqual([200, body])
    expect(answer.headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition': 'attachment',
      'x-content-type-options': 'nosniff',
    })
  })

  it('without a valid key, without a whole body, or of an accepted delivery, nothing is kept', async () => {
    const { deliver, kept, apiKeys, keyId, key, customer } = await supplierOf(service)
    const before = await store.refused.tally()
    const statuses = []
    for (const [body, sent] of [
      ['{"Status":7}', ''],
      ['{"Status":7}', makeApiKey(systemRandom)],
      ['', key],
      ['x'.repeat(2049), key],
      ['{"Status":1,"ProductID":"SKU-1"}', key],
    ] as const)
      statuses.push((await deliver(body, sent)).statusCode)
    await customers.disable(customer.id)
    clock.time += 1000
    statuses.push((await deliver('{"Status":7}')).statusCode)
    await customers.enable(customer.id)
    await apiKeys.revoke(keyId)
    clock.time += 1000
    statuses.push((await deliver('{"Status":7}')).statusCode)
    expect(statuses).toEqual([401, 401, 400, 413, 200, 401, 401])
    expect(await kept()).toEqual([])
    expect(await store.refused.tally()).toEqual(before)
  })

  it('a body that did not arrive completely is not kept', async () => {
    const { key, kept, deliver } = await supplierOf(service)
    if (!app.server.listening) await app.listen({ port: 0, host: '127.0.0.1' })
    const { port } = app.server.address() as { port: number }
    const socket = connect(port, '127.0.0.1')
    socket.write(`POST /Purchase/update HTTP/1.1\r\nHost: x\r\nApiKey: ${key}\r\nContent-Length: 20\r\n\r\n{"Status":7`)
    const seen = service.log.length
    socket.end()
    await once(socket.resume(), 'close')
    await until('the broken request is in the log', () => service.log.slice(seen).some(({ msg }) => msg === 'request'))
    await deliver('{"Status":8}')
    expect(await kept()).toMatchObject([{ payloadBytes: 12 }])
  })

  it('bodies that the audit log only counts are kept with an id of their own, and listed once each', async () => {
    const { deliver, kept, get, customer } = await supplierOf(service)
    clock.time += 60_000
    for (let number = 0; number < 30; number++) await deliver(`{"Status":7,"OrderID":"PO-${number}"}`)
    const recorded = await store.audit.list({ customerId: customer.id, limit: 99 })
    expect(recorded).toHaveLength(10)
    const ids = new Set((await kept()).map(({ refusalId }) => refusalId))
    expect(ids.size).toBe(30)
    for (const { refusalId } of recorded) expect(ids.has(refusalId ?? '')).toBe(true)
    const { Refusals } = (await get('/Supplier/refusals?limit=100')).json().data
    expect(Refusals).toHaveLength(30)
    expect(new Set(Refusals.map(({ OrderID }: { OrderID: string }) => OrderID)).size).toBe(30)
    const { deliveries } = await store.deliveries.after(0, { customerId: customer.id }, { limit: 9, scan: 1e6 })
    expect(deliveries).toEqual([])
  })
})

it('unless it is turned on, nothing is kept; what was kept before still expires after TESLIM_REFUSED_DAYS, as events do after TESLIM_AUDIT_DAYS', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const service = await testApp({ TESLIM_REFUSED_DAYS: '3', TESLIM_AUDIT_DAYS: '5' })
  const { store, clock } = service
  const { deliver, kept, get, customer, keyId } = await supplierOf(service)
  await deliver('{"Status":7}')
  expect(await kept()).toEqual([])
  expect((await get('/Supplier/refusals')).json().data.Refusals[0]).not.toHaveProperty('PayloadBytes')
  const bodies = [3, 4].map((days) => {
    const at = clock.time - days * DAY
    return bodyOf(10, { customerId: customer.id, keyId, at, refusalId: newId(at, systemRandom) })
  })
  await store.refused.keep(bodies, { maxBytes: 1e6, notKept: 0 })
  const events = [5, 6].map((days) => auditEvent({ action: 'old', at: clock.time - days * DAY }))
  await store.audit.append(events)
  await vi.advanceTimersByTimeAsync(600_000)
  vi.useRealTimers()
  await until('the older ones are gone', async () => (await kept()).length < 2)
  expect((await kept()).map(({ at }) => at)).toEqual([clock.time - 3 * DAY])
  await until('the older event is gone', async () => (await store.audit.list({ action: 'old', limit: 9 })).length < 2)
  expect((await store.audit.list({ action: 'old', limit: 9 })).map(({ at }) => at)).toEqual([clock.time - 5 * DAY])
})

it('what is queued is written when the server closes', async () => {
  const service = await testApp({ TESLIM_KEEP_REFUSED: 'known' })
  const { key, kept } = await supplierOf(service)
  let sent = 0
  // What is queued is written every second, which may be over before a busy machine has looked.
  do {
    await service.app.inject({
      method: 'POST',
      url: '/Purchase/update',
      headers: { ApiKey: key },
      payload: '{"Status":7}',
    })
    sent++
  } while ((await kept()).length === sent)
  await service.app.close()
  expect(await kept()).toHaveLength(sent)
})

let counter = 0
function bodyOf(bytes: number, more: Partial<NewRefusedBody> = {}): NewRefusedBody {
  const tail = (++counter).toString(16).padStart(12, '0')
  return {
    refusalId: `00000000-0001-7000-8000-${tail}`,
    at: 1,
    customerId: 'c',
    keyId: 'k',
    orderId: null,
    errorCode: 'X',
    message: '',
    requestId: 'r',
    address: '::1',
    payload: Buffer.alloc(bytes, 120),
    ...more,
  }
}

describe('a flood of refused bodies', () => {
  const MIB = 1024 * 1024
  const setUp = (answer: () => Promise<number> = async () => 0, maxBytes = 64 * MIB) => {
    const calls: { bodies: readonly NewRefusedBody[]; notKept: number }[] = []
    const failures: unknown[] = []
    const metrics = createMetrics()
    const keep: RefusedStore['keep'] = async (bodies, { notKept }) => {
      const result = await answer()
      calls.push({ bodies, notKept })
      return result
    }
    const refused = { keep } as RefusedStore
    const queue = createRefusedBodies({ refused, maxBytes, metrics, onFailed: (error) => failures.push(error) })
    const counts = async () =>
      Object.fromEntries(
        Array.from((await metrics.text('text')).matchAll(/refused_bodies_total\{outcome="(\w+)"\} (\d+)/g), (match) => [
          match[1],
          Number(match[2]),
        ]),
      )
    return { queue, calls, failures, counts }
  }

  it('takes at most 4 MiB of memory and 2 MiB of writing at once; the rest is counted, not read', async () => {
    const { queue, calls, counts } = setUp()
    let described = 0
    const describeBody = () => {
      described++
      return bodyOf(100_000)
    }
    for (let number = 0; number < 1000; number++) queue.record(100_000, describeBody)
    const fits = Math.floor((4 * MIB) / 100_512)
    expect(described).toBe(fits)
    await queue.flush()
    expect(calls).toHaveLength(1)
    expect(calls[0]?.notKept).toBe(1000 - fits)
    expect(calls[0]?.bodies.length).toBe(Math.floor((2 * MIB) / 100_512))
    await queue.close()
    expect(calls.flatMap(({ bodies }) => bodies)).toHaveLength(fits)
    expect(calls.reduce((sum, { notKept }) => sum + notKept, 0)).toBe(1000 - fits)
    expect(await counts()).toEqual({ kept: fits, removed: 0, not_kept: 1000 - fits })
    // There is room again.
    queue.record(100_000, describeBody)
    await queue.close()
    expect(described).toBe(fits + 1)
  })

  it('of tiny bodies takes a bounded number', async () => {
    const { queue, calls } = setUp()
    for (let number = 0; number < 20_000; number++) queue.record(1, () => bodyOf(1))
    await queue.close()
    expect(calls.flatMap(({ bodies }) => bodies)).toHaveLength(Math.floor((4 * MIB) / 513))
    expect(Math.max(...calls.map(({ bodies }) => bodies.length))).toBe(500)
  })

  it('a body larger than all room is counted, and one larger than what is written at once is written alone', async () => {
    const { queue, calls } = setUp(async () => 0, 5 * MIB)
    queue.record(5 * MIB, () => expect.unreachable())
    queue.record(3 * MIB, () => bodyOf(3 * MIB))
    queue.record(10, () => bodyOf(10))
    await queue.close()
    expect(calls.map(({ bodies, notKept }) => [bodies.map(({ payload }) => payload.length), notKept])).toEqual([
      [[3 * MIB], 1],
      [[10], 0],
    ])
  })

  it('waits while the store is away, and gives up what the store cannot take', async () => {
    let error: unknown = new AppError(storeErrors.unavailable)
    const { queue, calls, failures, counts } = setUp(() => (error ? Promise.reject(error) : Promise.resolve(2)))
    queue.record(10, () => bodyOf(10))
    await queue.flush()
    await queue.flush()
    expect([calls, failures]).toEqual([[], [error, error]])
    error = undefined
    await queue.flush()
    expect(calls).toMatchObject([{ bodies: [{ at: 1 }], notKept: 0 }])
    error = new Error('a defect')
    queue.record(10, () => bodyOf(10))
    await queue.flush()
    error = undefined
    await queue.close()
    expect(calls.slice(1)).toEqual([{ bodies: [], notKept: 1 }])
    expect(await counts()).toEqual({ kept: 1, removed: 4, not_kept: 1 })
  })

  it('that left too much behind is removed further, until the store has removed nothing', async () => {
    const gone = [3, 1, 0]
    const { queue, calls } = setUp(async () => gone.shift() ?? expect.unreachable())
    queue.record(10, () => bodyOf(10))
    for (let write = 0; write < 5; write++) await queue.flush()
    expect(calls.map(({ bodies }) => bodies.length)).toEqual([1, 0, 0])
  })

  it('that is written twice at once is written once', async () => {
    const { queue, calls } = setUp()
    for (let number = 0; number < 10; number++) queue.record(10, () => bodyOf(10))
    await Promise.all([queue.flush(), queue.flush(), queue.close()])
    expect(calls.flatMap(({ bodies }) => bodies)).toHaveLength(10)
  })
})
