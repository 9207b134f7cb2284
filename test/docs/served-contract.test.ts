import { calculateJwkThumbprint, decodeJwt, decodeProtectedHeader } from 'jose'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import type { Variables } from '#src/config/load-config.ts'
import { type Answer, codesOf, type Media, type OpenApi, type Operation } from '#src/docs/contract/answers.ts'
import { createDeliveryReader } from '#src/purchase/delivery-body.ts'
import { deliveryExample } from '#src/purchase/intake/intake.schema.ts'
import { addSupplier } from '../support/app/supplier.ts'
import { addCustomer, PASSWORD, type TestApp, testApp } from '../support/app/test-app.ts'
import { inlined } from '../support/docs/contract.ts'

interface Served extends TestApp {
  readonly document: OpenApi
  readonly operation: (id: string) => Operation
}

/** From the JSON, unless the YAML is to be read, which takes twenty times as long. */
async function served(settings: Variables, form: 'json' | 'yaml' = 'json'): Promise<Served> {
  const service = await testApp(settings)
  const { payload } = await service.app.inject(`/openapi.${form}`)
  const document = inlined(form === 'json' ? JSON.parse(payload) : parse(payload))
  const all = Object.values(document.paths).flatMap((methods) => Object.values(methods))
  const operation = (id: string): Operation => {
    const found = all.find(({ operationId }) => operationId === id)
    if (found === undefined) throw new Error(`there is no operation ${id}`)
    return found
  }
  return { ...service, document, operation }
}

const json = (of: { content?: Operation['responses'][string]['content'] } | undefined): Media =>
  of?.content?.['application/json'] ?? { schema: {} }

/** Examples of a receipt and of a check. */
const warningsIn = ({ operation }: Served) => {
  const data = json(operation('purchaseUpdate').responses['200']).schema.properties?.data
  return data?.anyOf?.map(({ properties }) => properties?.Warnings?.items?.examples)
}

describe('the contract that a server serves', () => {
  it('is, without names, what the generator makes, as JSON too, and may be kept by whoever asks for either', async () => {
    const { app, document } = await served({}, 'yaml')
    expect(document).toEqual(JSON.parse(JSON.stringify(await app.contract())))
    const answers = await Promise.all(['yaml', 'json'].map((form) => app.inject(`/openapi.${form}`)))
    expect(answers[1]?.json()).toEqual(parse(answers[0]?.payload ?? ''))
    for (const [index, form] of ['yaml', 'json'].entries()) {
      const { etag } = answers[index]?.headers ?? {}
      expect(answers[index]?.headers).toMatchObject({
        'content-type': `application/${form}; charset=utf-8`,
        'cache-control': 'public, max-age=60',
      })
      const again = await app.inject({ url: `/openapi.${form}`, headers: { 'if-none-match': String(etag) } })
      expect([again.statusCode, again.payload]).toEqual([304, ''])
    }
  })

  it.each([
    ['contract', ['Token', 'Expiration']],
    ['camel', ['token', 'expiration']],
    ['both', ['Token', 'Expiration', 'token', 'expiration']],
  ])('has the fields of a login answer with %s, and so has the page', async (TESLIM_LOGIN_ANSWER, fields) => {
    const { app, operation } = await served({ TESLIM_LOGIN_ANSWER })
    const { schema, example } = json(operation('login').responses['200'])
    expect(schema.properties?.data?.required).toEqual(fields)
    const all = [...fields, 'callbackData']
    expect(example).toMatchObject({ data: Object.fromEntries(all.map((name) => [name, expect.any(String)])) })
    const { rows, operations } = (await app.inject('/docs/reference.json')).json()
    const { answers } = operations.find(({ id }: { id: string }) => id === 'login')
    expect(answers[0].fields.map((place: number) => rows[place].name)).toEqual(all)
  })

  it.each(['user.Name', 'on', 'y', 'NaN', 'e1'])('has %s as the e-mail field of a login', async (field) => {
    const { operation } = await served({ TESLIM_LOGIN_EMAIL_FIELD: field }, 'yaml')
    const { schema, example } = json(operation('login').requestBody)
    expect(schema.required).toEqual([field, 'Password'])
    expect(example).toMatchObject({ [field]: 'shop@example.com' })
  })

  it.each([
    ['optional', [{ ApiKey: [] }, { ApiKey: [], bearer: [] }], true],
    ['required', [{ ApiKey: [], bearer: [] }], true],
    ['ignored', [{ ApiKey: [] }], false],
  ])('has the credentials of a delivery with a bearer token %s', async (TESLIM_PURCHASE_BEARER, security, refuses) => {
    const { operation } = await served({ TESLIM_PURCHASE_BEARER })
    for (const { security: taken, responses } of ['purchaseUpdate', 'purchaseUpdates'].map(operation)) {
      expect(taken).toEqual(security)
      expect(JSON.stringify(responses['401']).includes('TOKEN_FOREIGN')).toBe(refuses)
    }
  })

  it('has the places, limits and examples of a delivery', async () => {
    const { operation } = await served({
      TESLIM_ORDER_ID_POINTERS: '/Order/No,/Head/Order~1No',
      TESLIM_PRODUCT_POINTERS: '/Head/Lines/*/Code',
      TESLIM_ORDER_ID: 'required',
      TESLIM_BODY_LIMIT: '20480',
      TESLIM_IDEMPOTENCY_DAYS: '30',
    })
    const { parameters = [], requestBody } = operation('purchaseUpdate')
    expect(requestBody?.description).toContain('at most 20480 bytes')
    expect(requestBody?.description).toContain('/Order/No, /Head/Order~1No; without one the delivery is refused')
    expect(requestBody?.description).toContain('those at /Head/Lines/*/Code.')
    expect(parameters.find(({ name }) => name === 'Idempotency-Key')?.description).toContain('for 30 days')
    const body = { Head: { 'Order/No': 'PO-1', Lines: [{ Code: 'SKU-1' }] }, Status: 2 }
    expect(json(requestBody).examples?.status2).toMatchObject({ value: body })
    const uploaded = operation('purchaseUpdates').requestBody?.content['application/x-ndjson']
    expect(JSON.stringify(uploaded?.examples)).toContain(JSON.stringify(`${JSON.stringify(body)}\n`).slice(1, -1))
    const { example } = json(operation('supplierGet').responses['200'])
    const Limits = { BodyBytes: 20_480, OrderIDRequired: true, IdempotencyDays: 30 }
    expect(example).toMatchObject({ data: { Limits } })
  })

  it.each([[{}], [{ TESLIM_ORDER_ID_POINTERS: '/A/*/*/No', TESLIM_PRODUCT_POINTERS: '/P' }]])(
    'has an example of a delivery in which a server with %j finds order and product',
    async (settings) => {
      const { config } = await testApp(settings)
      const found = createDeliveryReader(config).parse(Buffer.from(JSON.stringify(deliveryExample(config, 'PO-7', 3))))
      expect(found).toMatchObject({ status: 3, orderId: 'PO-7', products: ['SKU-1'], warnings: [] })
    },
  )

  it.each([
    [{}, { OrderIDs: 'PO-1' }, '/OrderIDs was ignored: it looks like a misspelled /OrderID.'],
    [
      { TESLIM_ORDER_ID: 'required' },
      { OrderID: 'PO-1', Products: [{ Skus: 'A' }] },
      '/Products/*/Skus was ignored: it looks like a misspelled /Products/*/Sku.',
    ],
    [
      { TESLIM_ORDER_ID_POINTERS: '/Order/No,/Head/Order~1No' },
      { Head: { 'Order/Nos': 'PO-1' } },
      '/Head/Order~1Nos was ignored: it looks like a misspelled /Head/Order~1No.',
    ],
    [
      { TESLIM_ORDER_ID_POINTERS: '/Orders/*/*' },
      { Orderss: [['PO-1']] },
      '/Orderss was ignored: it looks like a misspelled /Orders.',
    ],
  ])('has the warning of a server with %j about %j', async (settings, body, warning) => {
    const service = await served(settings)
    expect(warningsIn(service)).toEqual([[warning], [warning]])
    const { key } = await addSupplier(service)
    const payload = { Status: 2, ...body }
    const request = { method: 'POST', url: '/Purchase/update', headers: { ApiKey: key }, payload } as const
    expect((await service.app.inject(request)).json().data.Warnings).toContain(warning)
  })

  it('has no example of a warning where a letter too many makes another name', async () => {
    expect(warningsIn(await served({ TESLIM_ORDER_ID_POINTERS: '/Orders,/Order' }))).toEqual([[], []])
  })

  it('has the limit of API keys, and examples of an allowance that a first delivery leaves', async () => {
    const limited = await served({ TESLIM_RATE_LIMIT: '7' })
    expect(limited.operation('purchaseUpdate').description).toContain('may make 7 deliveries a minute')
    const { key } = await addSupplier(limited)
    const { headers } = await limited.app.inject({
      method: 'POST',
      url: '/Purchase/update',
      headers: { ApiKey: key },
      payload: { Status: 1 },
    })
    const names = ['Limit', 'Remaining', 'Reset']
    const sent = names.map((name) => Number(headers[`ratelimit-${name.toLowerCase()}`]))
    const shown = ({ document }: Served) => {
      const headers = (document.components.headers ?? {}) as Record<string, Media>
      return names.map((name) => headers[`RateLimit${name}`]?.schema.examples?.[0])
    }
    expect(shown(limited)).toEqual(sent)
    const unlimited = await served({})
    expect(shown(unlimited)).toEqual([600, 599, 1])
    expect(unlimited.operation('purchaseUpdate').description).toContain('API keys have no limit')
  })

  it.each(['ES256', 'EdDSA'])('has a token and a key as the server issues them with %s', async (algorithm) => {
    const service = await served({
      TESLIM_TOKEN_ALGORITHM: algorithm,
      TESLIM_TOKEN_ISSUER: 'https://id.example',
      TESLIM_TOKEN_AUDIENCE: 'orders',
    })
    const { description, responses } = service.operation('jwks')
    expect(description).toContain(`signed with ${algorithm}; iss is https://id.example, aud is orders.`)
    const [key] = (json(responses['200']).example as { keys: Record<string, string>[] }).keys
    const { keys } = (await service.app.inject('/.well-known/jwks.json')).json()
    const { kid, x: _x, y: _y, ...kind } = keys[0]
    expect(key).toMatchObject(kind)
    expect(new Set(Object.keys(key ?? {}))).toEqual(new Set(Object.keys(keys[0])))
    expect(await calculateJwkThumbprint(key ?? {})).toBe(key?.kid)

    const { email } = await addCustomer(service)
    const { Token } = (await service.login({ Email: email, Password: PASSWORD })).json().data
    const { data } = json(service.operation('login').responses['200']).example as { data: { Token: string } }
    expect(decodeProtectedHeader(Token)).toEqual({ ...decodeProtectedHeader(data.Token), kid })
    const { iss, aud } = decodeJwt(Token)
    expect(decodeJwt(data.Token)).toMatchObject({ iss, aud })
  })

  it.each([
    [{}, 'keeps none now; older ones are deleted after 7 days'],
    [{ TESLIM_KEEP_REFUSED: 'known', TESLIM_REFUSED_DAYS: '3' }, 'are kept for at most 3 days'],
  ])('has how long bodies are kept that a server with %j refuses', async (settings, text) => {
    const { operation } = await served(settings)
    for (const id of ['supplierRefusalPayload', 'purchaseRefusalPayload'])
      expect(operation(id).description).toContain(text)
  })

  it.each([
    ['15', 'within 15 seconds (its headers: 10)'],
    ['5', 'within 5 seconds (its headers: 5)'],
  ])('has the limits of time with TESLIM_REQUEST_TIMEOUT=%s', async (TESLIM_REQUEST_TIMEOUT, text) => {
    const { document, operation } = await served({ TESLIM_REQUEST_TIMEOUT })
    expect(document.info.description).toContain(text)
    const ofUploads = operation('purchaseUpdates').description
    expect(ofUploads).toContain(`if no line comes for ${TESLIM_REQUEST_TIMEOUT} seconds`)
  })

  it('has what becomes of an Authorization header of a login, and how long a token works', async () => {
    const { operation } = await served({ TESLIM_LOGIN_AUTHORIZATION: 'ignore', TESLIM_TOKEN_TTL: '900' })
    const { description, responses } = operation('login')
    expect(description).toContain('an Authorization header is ignored. The token works for 900 seconds')
    expect(codesOf(responses['400'] as Answer)).not.toContain('AUTHORIZATION_NOT_ALLOWED')
    const usual = (await served({})).operation('login')
    expect(codesOf(usual.responses['400'] as Answer)).toContain('AUTHORIZATION_NOT_ALLOWED')
  })

  it('has only the operations and links that are there', async () => {
    const { document, operation } = await served({ TESLIM_DOCS: 'off', TESLIM_CONSOLE: 'off' })
    expect(Object.keys(document.paths)).not.toContain('/Operator/live')
    const { example } = json(operation('root').responses['200'])
    expect(JSON.stringify(example)).toContain('/openapi.yaml')
    expect(JSON.stringify(example)).not.toMatch(/docs|console/i)
    expect((await served({})).document.paths).toHaveProperty(['/Operator/live'])
  })

  it('has what holds for every operation', async () => {
    const { document } = await served({
      TESLIM_FIELD_CASE: 'exact',
      TESLIM_PURCHASE_BEARER: 'required',
      TESLIM_CORS_ORIGINS: 'https://shop.example',
    })
    const { description } = document.info
    for (const part of ['must be spelled exactly', 'A delivery needs a token', 'Pages of the origins'])
      expect(description).toContain(part)
    // Who asks for the contract need not know who may ask from a page.
    expect(description).not.toContain('shop.example')
    const usual = (await served({})).document.info.description
    expect(usual).toContain('sends no CORS headers')
    expect(usual).toContain('So are the fields of the login')
  })
})
