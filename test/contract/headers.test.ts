import { Readable } from 'node:stream'
import { expect, it } from 'vitest'
import { addSupplier } from '../support/app/supplier.ts'
import { testApp } from '../support/app/test-app.ts'
import { published } from '../support/docs/contract.ts'

const operations = Object.values(published.paths).flatMap((methods) => Object.values(methods))

it('every address of the contract answers other methods with 405 and those it has in Allow, and OPTIONS with 204 and the same', async () => {
  const { app } = await testApp()
  for (const [path, ofPath] of Object.entries(published.paths)) {
    const url = path.replaceAll(/\{\w+\}/g, 'x')
    const named = Object.keys(ofPath).map((method) => method.toUpperCase())
    const methods = named.includes('GET') ? [...named, 'HEAD'] : named
    const [other, options] = await Promise.all(
      (['PATCH', 'OPTIONS'] as const).map((method) => app.inject({ method, url })),
    )
    expect([path, other?.statusCode, other?.headers.allow]).toEqual([path, 405, methods.toSorted().join(', ')])
    expect([path, options?.statusCode, options?.headers.allow]).toEqual([
      path,
      204,
      [...methods, 'OPTIONS'].toSorted().join(', '),
    ])
    for (const { responses } of Object.values(ofPath)) expect(responses[405]?.headers).toHaveProperty('allow')
  }
})

it('openapi.yaml has the allowance at each status at which a delivery may be answered with it', async () => {
  const { responses = {} } = operations.find(({ operationId }) => operationId === 'purchaseUpdate') ?? {}
  const service = await testApp({ TESLIM_RATE_LIMIT: '8', TESLIM_BODY_LIMIT: '1024' })
  const { key, customer } = await addSupplier(service, { authority: ['A'] })
  const deliver = async (payload: string | Readable, headers: Record<string, string> = {}) =>
    service.app.inject({
      method: 'POST',
      url: '/Purchase/update',
      headers: { ApiKey: key, 'Idempotency-Key': 'k', ...headers },
      payload,
    })
  const delivery = '{"Status":1,"ProductID":"A"}'
  const answers = [
    await deliver(delivery),
    await deliver(`${delivery} `),
    await deliver('{}'),
    await deliver('{"Status":1,"ProductID":"B"}'),
    await deliver('x'.repeat(1025)),
    await deliver(delivery, { 'Content-Encoding': 'gzip' }),
    await deliver(delivery, { ApiKey: 'unknown' }),
    await deliver(delivery, { Authorization: 'Bearer a.b.c' }),
  ]
  // The customer is disabled while the body arrives.
  const slow = Readable.from(
    (async function* () {
      await service.customers.disable(customer.email)
      service.clock.time += 600
      yield Buffer.from(delivery)
    })(),
  )
  answers.push(await deliver(slow, { 'Content-Length': String(delivery.length) }))
  const [told, untold] = [true, false].map((isTold) =>
    answers.filter(({ headers }) => 'ratelimit-limit' in headers === isTold).map(({ statusCode }) => statusCode),
  )
  expect([told, untold]).toEqual([
    [200, 422, 400, 403, 413, 401],
    [415, 401, 401],
  ])
  const documented = Object.keys(responses).filter((status) => 'ratelimit-limit' in (responses[status]?.headers ?? {}))
  expect(documented).toEqual(['200', '400', '401', '403', '413', '422', '429', '500', '503'])
})

it('every answer with an ETag is answered with 304 when it has not changed, and openapi.yaml has that status there only', async () => {
  const { app } = await testApp()
  for (const url of ['/openapi.yaml', '/.well-known/jwks.json']) {
    const { headers } = await app.inject(url)
    const again = await app.inject({ url, headers: { 'If-None-Match': headers.etag } })
    expect([again.statusCode, again.headers.etag, again.payload]).toEqual([304, headers.etag, ''])
  }
  const tagged = operations.filter(({ responses }) => 'etag' in (responses[200]?.headers ?? {}))
  expect(operations.filter(({ responses }) => '304' in responses)).toEqual(tagged)
  expect(tagged.length).toBeGreaterThan(5)
})
