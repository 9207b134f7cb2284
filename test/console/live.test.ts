import { randomUUID } from 'node:crypto'
import { request as httpRequest, type IncomingMessage } from 'node:http'
import { afterAll, describe, expect, it } from 'vitest'
import { AppError } from '#src/lib/app-error.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import { checkPart } from '../support/app/checked-fetch.ts'
import { addSupplier } from '../support/app/supplier.ts'
import { addCustomer, PASSWORD, type TestApp, testApp, testAppBeside } from '../support/app/test-app.ts'
import { upload } from '../support/app/upload.ts'
import { delivery } from '../support/store/store-rows.ts'
import { storesOfRun } from '../support/store/stores.ts'

interface Frame {
  readonly Since?: number
  readonly Seconds: { At: number; ByStatus: number[]; Duplicates: number; Refusals?: Record<string, number> }[]
  readonly Newest: { ReceiptID: string; OrderID?: string; CustomerID: string }[]
  readonly Skipped: number
  readonly Latency: { P50Ms: number | null; P99Ms: number | null }
  readonly Replicas: number | null
  readonly Consoles: number
  readonly StoreUp: boolean
  readonly Failed: number
}

async function operator(service: TestApp, more = {}) {
  const customer = await addCustomer(service, { scope: 'operator', ...more })
  const token = (await service.login({ Email: customer.email, Password: PASSWORD })).json().data.Token as string
  return { customer, token }
}

/** The tokens of as many operators as may open so many live views. */
const tokensFor = (service: TestApp, views: number): Promise<string[]> =>
  Promise.all(
    Array.from({ length: views / 20 }, async () => (await operator(service, { scope: 'operator:read' })).token),
  ).then((tokens) => tokens.flatMap((token) => Array.from({ length: 20 }, () => token)))

/** Opens a live view over a real connection. */
async function openLive(service: TestApp, token: string, headers = {}, method = 'GET') {
  const { port } = service.app.server.address() as { port: number }
  const request = httpRequest({
    port,
    method,
    agent: false,
    path: '/Operator/live',
    headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream', ...headers },
  }).end()
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request.on('response', resolve).on('error', reject)
  })
  let text = ''
  const ended = new Promise<void>((resolve) => {
    response.on('close', resolve).on('error', () => resolve())
  })
  response.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  afterAll(() => void request.destroy())
  const frames = () => [...text.matchAll(/^data: (.*)\n\n/gm)].map(([, data = '']) => JSON.parse(data) as Frame)
  const total = () =>
    frames().reduce((sum, { Seconds }) => sum + Seconds.flatMap(({ ByStatus }) => ByStatus).reduce(add, 0), 0)
  return { request, response, ended, frames, total, text: () => text }
}

const add = (one: number, two: number): number => one + two
const PATIENCE = { timeout: 5000, interval: 20 }

describe.each(storesOfRun())('the live view on %s', async (kind, emptyStore) => {
  const here = await testApp(await emptyStore(), { withThreads: true })
  const there = kind === 'postgres' ? await testAppBeside(here) : here
  for (const service of new Set([here, there])) await service.app.listen({ port: 0 })
  const { token } = await operator(here)
  const { key, customer } = await addSupplier(here)
  const deliver = (number: number, service = here) =>
    service.app.inject({
      method: 'POST',
      url: '/Purchase/update',
      headers: { ApiKey: key },
      payload: `{"OrderID":"o${number}","Status":2,"n":${number}}`,
    })

  it('shows what is delivered at any replica, and a stream that was cut begins again at another one', async () => {
    const stream = await openLive(here, token)
    expect(stream.response.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
    })
    await expect.poll(() => stream.frames().length, PATIENCE).toBeGreaterThan(0)
    expect(stream.frames()[0]).toMatchObject({ Since: expect.any(Number), StoreUp: true, Consoles: 1 })
    for (let number = 0; number < 5; number++) await deliver(number, number % 2 ? here : there)
    await expect.poll(stream.total, PATIENCE).toBe(5)
    for (const frame of stream.frames()) await checkPart('LiveFrame', frame)
    const newest = stream.frames().flatMap(({ Newest }) => Newest)
    expect(newest.map(({ OrderID }) => OrderID).sort()).toEqual(['o0', 'o1', 'o2', 'o3', 'o4'])
    expect(newest[0]?.CustomerID).toBe(customer.id)
    stream.request.destroy()
    await stream.ended
    const beside = await openLive(there, token)
    await expect.poll(() => beside.frames().length, PATIENCE).toBeGreaterThan(0)
    for (let number = 5; number < 12; number++) await deliver(number, number % 2 ? here : there)
    const again = await openLive(there, token)
    await expect.poll(again.total, PATIENCE).toBe(12)
    await expect.poll(beside.total, PATIENCE).toBe(12)
    // Only servers count, and these were not opened to serve.
    expect(again.frames().at(-1)?.Replicas).toBe(kind === 'postgres' ? 0 : null)
    for (const each of [again, beside]) {
      each.request.destroy()
      await each.ended
    }
  })

  it('answers one frame to a request without an event stream', async () => {
    await here.app.inject({
      method: 'POST',
      url: '/Purchase/update',
      headers: { ApiKey: key },
      payload: '{"Status":9}',
    })
    const ask = (bearer: string) =>
      here.app.inject({ url: '/operator/live/', headers: { authorization: `Bearer ${bearer}` } })
    const answer = await ask(token)
    expect([answer.statusCode, answer.headers['cache-control']]).toEqual([200, 'no-store, no-transform'])
    expect(answer.json()).toMatchObject({
      success: true,
      data: { Store: kind, StoreUp: true, Since: expect.any(Number), Latency: { P50Ms: expect.any(Number) } },
    })
    const refusals = answer.json().data.Seconds.flatMap(({ Refusals = {} }) => Object.entries(Refusals))
    expect(refusals).toEqual([['INVALID_REQUEST', 1]])
    expect((await ask((await operator(here, { scope: 'operator:read' })).token)).statusCode).toBe(200)
    const { token: other } = await operator(here, { scope: 'customer' })
    expect((await ask(other)).json()).toMatchObject({ errorCode: 'OPERATOR_REQUIRED' })
    expect((await here.app.inject('/Operator/live')).statusCode).toBe(401)
  })

  it('ends when the token is revoked, and its reader gets 401 then', async () => {
    const { customer, token: revoked } = await operator(here)
    const stream = await openLive(here, revoked)
    await expect.poll(() => stream.frames().length, PATIENCE).toBeGreaterThan(0)
    await here.customers.disable(customer.id)
    await stream.ended
    expect((await openLive(here, revoked)).response.statusCode).toBe(401)
  })

  it('a customer that is no operator any more is not shown anything', async () => {
    const { customer, token: former } = await operator(here)
    const stream = await openLive(here, former)
    await expect.poll(() => stream.frames().length, PATIENCE).toBeGreaterThan(0)
    await here.customers.set(customer.id, { scope: 'customer' })
    await stream.ended
  })
})

it('says how many deliveries were answered with 5xx, while the store can be read and not written', async () => {
  const service = await testApp({}, { withThreads: true })
  await service.app.listen({ port: 0 })
  const { key } = await addSupplier(service)
  const { token } = await operator(service)
  const stream = await openLive(service, token)
  await expect.poll(() => stream.frames().at(-1), PATIENCE).toMatchObject({ StoreUp: true, Failed: 0 })
  Object.assign(service.store.deliveries, {
    deliver: () => Promise.reject(new AppError(storeErrors.unavailable)),
  })
  const url = '/Purchase/update'
  const headers = { ApiKey: key }
  const answer = await service.app.inject({ method: 'POST', url, headers, payload: '{"OrderID":"o","Status":2}' })
  expect(answer.json()).toMatchObject({ errorCode: 'STORE_UNAVAILABLE' })
  await service.app.inject({ method: 'POST', url, headers, payload: '{"Status":9}' })
  await expect.poll(() => stream.frames().at(-1), PATIENCE).toMatchObject({ StoreUp: true, Failed: 1 })
  const { port } = service.app.server.address() as { port: number }
  const lines = '{"OrderID":"o","Status":2}\n{"OrderID":"o","Status":9}\n{"OrderID":"p","Status":2}\n'
  const { answers } = await upload(`http://127.0.0.1:${port}`, key, lines)
  // The last answer says why the upload ends, and is about no delivery.
  expect(answers.map(({ Line, errorCode }) => [Line, errorCode])).toEqual([
    [1, 'STORE_UNAVAILABLE'],
    [2, 'INVALID_REQUEST'],
    [3, 'STORE_UNAVAILABLE'],
    [null, 'STORE_UNAVAILABLE'],
  ])
  await expect.poll(() => stream.frames().at(-1), PATIENCE).toMatchObject({ StoreUp: true, Failed: 3 })
  stream.request.destroy()
  await service.app.close()
})

it('a hundred live views cost the store one read a second', async () => {
  const service = await testApp({}, { withThreads: true })
  await service.app.listen({ port: 0 })
  const tokens = await tokensFor(service, 100)
  const { pulse } = service.store.deliveries
  let reads = 0
  Object.assign(service.store.deliveries, {
    pulse: (...sent: Parameters<typeof pulse>) => {
      reads++
      return pulse(...sent)
    },
  })
  const streams = await Promise.all(tokens.map((token) => openLive(service, token)))
  await service.store.deliveries.deliver(delivery((await addCustomer(service)).id, { receiptId: randomUUID() }))
  await expect.poll(() => Math.min(...streams.map(({ frames }) => frames().length)), PATIENCE).toBeGreaterThan(2)
  const most = Math.max(...streams.map(({ frames }) => frames().length))
  expect(reads).toBeLessThanOrEqual(most)
  expect(streams[99]?.frames().at(-1)?.Consoles).toBe(100)
  await service.app.close()
  await Promise.all(streams.map(({ ended }) => ended))
})

it('one operator, even a read-only one, takes 20 live views and leaves the others theirs', async () => {
  const service = await testApp({}, { withThreads: true })
  await service.app.listen({ port: 0 })
  const { token } = await operator(service, { scope: 'operator:read' })
  const tried = await Promise.all(Array.from({ length: 30 }, () => openLive(service, token)))
  expect(tried.filter(({ response }) => response.statusCode === 200)).toHaveLength(20)
  const [refused] = tried.filter(({ response }) => response.statusCode === 503)
  await refused?.ended
  expect(refused?.response.headers['retry-after']).toBe('10')
  expect(JSON.parse(refused?.text() ?? '')).toMatchObject({
    errorCode: 'CONSOLES_FULL',
    message: expect.stringContaining('You have 20 live views open at this process'),
  })
  const one = { headers: { authorization: `Bearer ${token}` }, url: '/Operator/live' }
  expect((await service.app.inject(one)).statusCode, 'also for one frame').toBe(503)
  expect((await openLive(service, (await operator(service)).token)).response.statusCode).toBe(200)
  const [open] = tried.filter(({ response }) => response.statusCode === 200)
  open?.request.destroy()
  await expect.poll(async () => (await service.app.inject(one)).statusCode, PATIENCE).toBe(200)
  await service.app.close()
})

it('a stream ends when the server stops or its token expires, and at most 500 are open', async () => {
  const service = await testApp({}, { withThreads: true })
  await service.app.listen({ port: 0 })
  const { token } = await operator(service)
  const tokens = await tokensFor(service, 500)
  const streams = await Promise.all(tokens.map((one) => openLive(service, one)))
  const refused = await openLive(service, token)
  await refused.ended
  expect(refused.response).toMatchObject({ statusCode: 503, headers: { 'retry-after': '10' } })
  expect(JSON.parse(refused.text())).toMatchObject({ errorCode: 'CONSOLES_FULL', success: false })
  for (const { request } of streams.slice(1)) request.destroy()
  await Promise.all(streams.slice(1).map(({ ended }) => ended))
  service.clock.time += 3_600_000
  await streams[0]?.ended
  const { token: another } = await operator(service)
  const last = await openLive(service, another)
  await service.app.close()
  await last.ended
})

it('a HEAD of the live view ends', async () => {
  const service = await testApp({}, { withThreads: true })
  await service.app.listen({ port: 0 })
  const { token } = await operator(service)
  const { response, ended, text } = await openLive(service, token, {}, 'HEAD')
  await ended
  expect([response.statusCode, text()]).toEqual([200, ''])
})
