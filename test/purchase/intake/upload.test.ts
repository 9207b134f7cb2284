import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { AppError } from '#src/lib/app-error.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import { addSupplier } from '../../support/app/supplier.ts'
import { type TestApp, testApp } from '../../support/app/test-app.ts'
import { openUpload, upload } from '../../support/app/upload.ts'
import { until } from '../../support/until.ts'

async function listening(settings: Record<string, string> = {}) {
  const service = await testApp(settings, { withThreads: true })
  await service.app.listen({ port: 0, host: '127.0.0.1' })
  const url = `http://127.0.0.1:${(service.app.server.address() as AddressInfo).port}`
  return { service, url }
}

const { service, url } = await listening({ TESLIM_BODY_LIMIT: '2048' })
const { store } = service
const { key, customer } = await addSupplier(service, { authority: ['*'] })

const order = (id: string, more = ''): string => `{"OrderID":"${id}","Status":1${more}}`
const payloadOf = async ({ store }: TestApp, receipt = ''): Promise<string> =>
  Buffer.from((await store.deliveries.findByReceipt(receipt))?.payload ?? []).toString()

describe('an upload', () => {
  it('answers each line in order, and stores the exact bytes of each body', async () => {
    const bodies = [order('u-1'), `  { "Status" : 2.0, "OrderID":"u-2" }\t`, '{"Body":1,"Status":0,"OrderID":"u-3"}']
    const wrapped = '{ "OrderID":"u-4","Status":1 , "n":12345678901234567890}'
    const text = `\ufeff${bodies[0]}\r\n\n${bodies[1]}\n \t\r\n${bodies[2]}\n{"IdempotencyKey":"k-4","Body": ${wrapped} }\n{"body":${order('u-5')},"IDEMPOTENCYKEY":null}`
    const { status, answers } = await upload(url, key, text)
    expect(status).toBe(200)
    expect(answers.map(({ Line, success, data }) => [Line, success, data?.OrderID])).toEqual([
      [1, true, 'u-1'],
      [3, true, 'u-2'],
      [5, true, 'u-3'],
      [6, true, 'u-4'],
      [7, true, 'u-5'],
    ])
    const stored = await Promise.all(answers.map(({ data }) => payloadOf(service, data?.ReceiptID)))
    expect(stored).toEqual([...bodies, wrapped, order('u-5')])
    const again = await upload(url, key, `{"IdempotencyKey":"k-4","Body":${wrapped}}`)
    expect(again.answers[0]?.data).toMatchObject({ Duplicate: true, ReceiptID: answers[3]?.data?.ReceiptID })
    const other = await upload(url, key, '{"IdempotencyKey":"k-4","Body":{"Status":3}}')
    expect(other.answers).toMatchObject([{ Line: 1, errorCode: 'IDEMPOTENCY_KEY_REUSED' }])
  })

  it('refuses a line as the single route refuses its body, and goes on with the next one', async () => {
    const long = 'x'.repeat(2048)
    const lines = [
      ['{"Status":9}', 'INVALID_REQUEST'],
      ['nonsense', 'BODY_NOT_JSON'],
      ['[]', 'INVALID_REQUEST'],
      [Buffer.from([0x22, 0xff, 0x22]), 'BODY_NOT_UTF8'],
      [`{"Status":1,"a":"${long}"}`, 'BODY_TOO_LARGE'],
      [`{"Status":1,"a":"${long}${long}"}`, 'BODY_TOO_LARGE'],
      [`{"Status":1,"a":${'['.repeat(65)}${']'.repeat(65)}}`, 'BODY_TOO_DEEP'],
      ['{"Status":1,"__proto__":1}', 'FORBIDDEN_KEY'],
      ['{"IdempotencyKey":"x y","Body":{"Status":1}}', 'INVALID_REQUEST'],
      ['{"IdempotencyKey":7,"Body":{"Status":1}}', 'INVALID_REQUEST'],
      ['{"IdempotencyKey":"x","Body":{"Status":1},"More":1}', 'INVALID_REQUEST'],
      ['{"IdempotencyKey":"x","Body":{"Status":1}', 'BODY_NOT_JSON'],
      ['{"IdempotencyKey":"x","Body":[{}}', 'BODY_NOT_JSON'],
      ['{"IdempotencyKey":"x","Body":"text"}', 'INVALID_REQUEST'],
      ['{"Body":{"Status":1}}', 'INVALID_REQUEST'],
    ] as const
    const text = Buffer.concat(lines.map(([line]) => Buffer.concat([Buffer.from(line), Buffer.from('\n')])))
    const { answers } = await upload(url, key, Buffer.concat([text, Buffer.from(order('after'))]))
    expect(answers.map(({ Line, errorCode }) => [Line, errorCode])).toEqual([
      ...lines.map(([, code], index) => [index + 1, code]),
      [lines.length + 1, undefined],
    ])
    expect(answers[8]?.errors).toEqual([
      { path: '/IdempotencyKey', message: 'must be 1 to 255 visible ASCII characters' },
    ])
  })

  it('takes lines that arrive in pieces of any size', async () => {
    const text = Buffer.from(`${order('ü-1')}\r\n${order('ü-2')}\n${order('ü-3')}`)
    const { sent, done } = openUpload(url, key)
    for (const byte of text) {
      if (!sent.write(Buffer.of(byte))) await once(sent, 'drain')
    }
    sent.end()
    expect((await done).answers.map(({ data }) => data?.OrderID)).toEqual(['ü-1', 'ü-2', 'ü-3'])
  })

  it('answers a line while the next one has not been sent', async () => {
    const { sent, answers, done } = openUpload(url, key)
    for (const count of [1, 2, 3]) {
      sent.write(`${order(`live-${count}`)}\n`)
      await until('it is answered', () => answers.length === count)
    }
    sent.end()
    expect((await done).answers).toHaveLength(3)
  })

  it('of nothing is answered with nothing', async () => {
    expect(await upload(url, key, '')).toEqual({ status: 200, answers: [] })
    expect(await upload(url, key, '\n\r\n  \n')).toEqual({ status: 200, answers: [] })
  })

  it('is refused as a whole without a valid key, or compressed', async () => {
    expect(await upload(url, 'tsl_unknown', order('x'))).toMatchObject({
      status: 401,
      error: { errorCode: 'API_KEY_INVALID' },
    })
    expect(await upload(url, key, order('x'), { 'Content-Encoding': 'gzip' })).toMatchObject({ status: 415 })
  })

  it('does not store a line that was cut off by a client that left', async () => {
    const { sent, answers } = openUpload(url, key)
    sent.write(`${order('whole')}\n${order('cut')}`)
    await until('it is answered', () => answers.length === 1)
    sent.destroy()
    await until('the server notices', () =>
      service.log.some(({ route, aborted }) => route === '/Purchase/updates' && aborted === true),
    )
    expect(await store.deliveries.history(customer.id, 'whole')).toHaveLength(1)
    expect(await store.deliveries.history(customer.id, 'cut')).toEqual([])
  })

  it('refuses the rest once the key is revoked', async () => {
    const { key, keyId, apiKeys } = await addSupplier(service)
    const { sent, answers, done } = openUpload(url, key)
    sent.write(`${order('before')}\n`)
    await until('it is answered', () => answers.length === 1)
    await apiKeys.revoke(keyId)
    service.clock.time += 1000
    sent.end(`${order('later')}\n${order('later')}\n`)
    expect((await done).answers).toMatchObject([
      { Line: 1, success: true },
      { Line: 2, errorCode: 'API_KEY_INVALID' },
      { Line: 3, errorCode: 'API_KEY_INVALID' },
    ])
  })

  it('refuses lines whose products are not allowed, and what was refused can be looked up', async () => {
    const { service, url } = await listening({ TESLIM_KEEP_REFUSED: 'known' })
    const { app, store } = service
    const { key, keyId, customer } = await addSupplier(service, { authority: ['A'] })
    const refused = order('2', ',"ProductID":"B"')
    const { answers } = await upload(
      url,
      key,
      `${order('1', ',"Sku":1,"ProductID":"A"')}\n{"IdempotencyKey":"k","Body":${refused}}\n`,
    )
    expect(answers).toMatchObject([{ success: true }, { Line: 2, errorCode: 'PRODUCT_NOT_AUTHORIZED' }])
    await app.flushRefusals()
    const [event] = await store.audit.list({ customerId: customer.id, action: 'delivery.refused', limit: 10 })
    expect(event).toMatchObject({ orderId: '2', keyId, details: { errorCode: 'PRODUCT_NOT_AUTHORIZED' } })
    const kept = await app.inject({ url: `/Supplier/refusal/${event?.refusalId}/payload`, headers: { ApiKey: key } })
    expect(kept.payload).toBe(refused)
  })
})

it('ends an upload when the service is told to stop, after answering what it took', async () => {
  const { service, url } = await listening()
  const { key } = await addSupplier(service)
  const { sent, answers, done } = openUpload(url, key)
  sent.write(`${order('taken')}\n${order('cut')}`)
  await until('it is answered', () => answers.length === 1)
  const closed = service.app.close()
  expect((await done).answers).toMatchObject([
    { Line: 1, success: true },
    { Line: null, errorCode: 'STOPPING' },
  ])
  await closed
})

it('ends an upload that sends no line for TESLIM_REQUEST_TIMEOUT seconds, and says so', async () => {
  const { service, url } = await listening({ TESLIM_REQUEST_TIMEOUT: '1' })
  const { key } = await addSupplier(service)
  const { sent, done } = openUpload(url, key)
  sent.write(`${order('taken')}\n{`)
  expect((await done).answers).toMatchObject([
    { Line: 1, success: true },
    { Line: null, errorCode: 'REQUEST_TIMEOUT' },
  ])
})

it.each([
  ['a chunk without a length', '\r\nnone\r\n'],
  ['a trailer that announces a length', '\r\n0\r\nContent-Length: 3\r\n\r\n'],
])('answers what it has stored before %s ends it, and says so', async (_what, rest) => {
  const { service, url } = await listening()
  const { key, customer } = await addSupplier(service)
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  const line = `${order('stored')}\n`
  socket.write(
    `POST /Purchase/updates HTTP/1.1\r\nHost: a\r\nApiKey: ${key}\r\nTransfer-Encoding: chunked\r\n\r\n${line.length.toString(16)}\r\n${line}${rest}`,
  )
  const bytes = await textOf(socket)
  expect(bytes).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
  expect(Array.from(bytes.matchAll(/^\{.*\}$/gm), ([answer]) => JSON.parse(answer))).toMatchObject([
    { Line: 1, success: true },
    { Line: null, errorCode: 'BAD_REQUEST' },
  ])
  expect(await service.store.deliveries.history(customer.id, 'stored')).toHaveLength(1)
})

it('refuses and accepts each line as the single route does, whatever it is', async () => {
  const { service, url } = await listening()
  const supplier = () => addSupplier(service, { authority: ['A-*'] })
  const [one, other] = [await supplier(), await supplier()]
  const bodies = fc.oneof(
    fc.json(),
    fc.string(),
    fc
      .record(
        {
          Status: fc.constantFrom(0, 1, 4, '1'),
          OrderID: fc.constantFrom('PO-1', 'PO-2', 7),
          OrderNo: fc.constant('x'),
          ProductID: fc.constantFrom('A-1', 'B'),
        },
        { requiredKeys: ['ProductID'] },
      )
      .map((body) => JSON.stringify(body)),
  )
  const lines = fc.array(
    bodies.filter((body) => body.trim() !== '' && !/[\r\n\ufeff]/.test(body) && body.isWellFormed()),
    { minLength: 1, maxLength: 20 },
  )
  const comparable = ({ Line: _, requestId: _id, data, ...rest }: Record<string, unknown>) => {
    const { ReceiptID: _receipt, ReceivedAt: _at, ...kept } = (data ?? {}) as Record<string, unknown>
    return { ...rest, data: kept }
  }
  await fc.assert(
    fc.asyncProperty(lines, async (sent) => {
      const { answers } = await upload(url, one.key, sent.join('\n'))
      const single: unknown[] = []
      for (const payload of sent) {
        const answer = await service.app.inject({
          method: 'POST',
          url: '/Purchase/update',
          headers: { ApiKey: other.key },
          payload,
        })
        single.push(comparable(answer.json()))
      }
      expect(answers.map((answer) => comparable({ ...answer }))).toEqual(single)
    }),
    { numRuns: 40 },
  )
})

it.each([
  ['of all keys', { TESLIM_RATE_LIMIT: '60' }, undefined],
  ['of its own', {}, 60],
])('waits for the rate limit %s instead of being refused', async (_whose, settings, rateLimit) => {
  const { service, url } = await listening(settings as Record<string, string>)
  const { key, keyId, apiKeys } = await addSupplier(service)
  if (rateLimit !== undefined) await apiKeys.set(keyId, { rateLimit })
  const { sent, answers, done } = openUpload(url, key)
  sent.end(Array.from({ length: 63 }, (_, index) => order(`limited-${index}`)).join('\n'))
  await until('the limit is used up', () => answers.length === 60)
  service.clock.time += 3000
  expect((await done).answers.every(({ success }) => success)).toBe(true)
})

it('ends when the store is away, after a line that says so, and waits while it is busy', async () => {
  const { service, url } = await listening()
  const { key } = await addSupplier(service)
  const { deliveries } = service.store
  const { deliver } = deliveries
  const { sent, answers, done } = openUpload(url, key)
  sent.write(`${order('stored')}\n`)
  await until('it is answered', () => answers.length === 1)
  const away = () => Promise.reject(new AppError(storeErrors.unavailable))
  Object.assign(deliveries, { deliver: away })
  sent.write(`${order('lost')}\n`)
  await until('it is answered, and the end', () => answers.length === 3)
  Object.assign(deliveries, { deliver })
  sent.end(order('too late'))
  expect((await done).answers).toMatchObject([
    { Line: 1, success: true },
    { Line: 2, errorCode: 'STORE_UNAVAILABLE' },
    { Line: null, errorCode: 'STORE_UNAVAILABLE' },
  ])
  const items = service.store.deliveries.load.items
  Object.assign(deliveries.load, { items: () => 1e9 })
  const waiting = openUpload(url, key)
  waiting.sent.end(order('patient'))
  await until('the upload has been read', () => waiting.sent.writableFinished)
  expect(waiting.answers).toEqual([])
  Object.assign(deliveries.load, { items })
  expect((await waiting.done).answers).toMatchObject([{ Line: 1, success: true }])
})

it('with validateOnly=true validates each line and stores nothing; any other value is a 400', async () => {
  const { service, url } = await listening()
  const { key, customer } = await addSupplier(service)
  const body = `${order('checked')}\n{}\n`
  const { answers } = await upload(url, key, body, {}, '?validateOnly=true')
  expect(answers).toMatchObject([
    { Line: 1, success: true, data: { ValidateOnly: true, OrderID: 'checked', Duplicate: false } },
    { Line: 2, errorCode: 'INVALID_REQUEST' },
  ])
  expect(await service.store.deliveries.history(customer.id, 'checked')).toEqual([])
  expect(await upload(url, key, body, {}, '?validateOnly=1')).toMatchObject({
    status: 400,
    error: { errorCode: 'INVALID_REQUEST' },
  })
})
