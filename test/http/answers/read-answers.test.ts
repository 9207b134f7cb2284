import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import type { InjectOptions } from 'fastify'
import { describe, expect, it } from 'vitest'
import { createApiKeys } from '#src/customer/api-key.rule.ts'
import { isForOperators } from '#src/docs/contract/page.ts'
import { systemRandom } from '#src/lib/random.ts'
import { addCustomer, LOGIN, PASSWORD, testApp } from '../../support/app/test-app.ts'
import { published } from '../../support/docs/contract.ts'
import { webhook } from '../../support/store/store-rows.ts'

const service = await testApp({ TESLIM_KEEP_REFUSED: 'known' })
const { app, store, customers, clock, login } = service
const one = await addCustomer(service, { authority: ['*'] })
const other = await addCustomer(service, { authority: ['*'] })
const office = await addCustomer(service, { scope: 'operator' })
const keys = createApiKeys({ store, customers, clock, random: systemRandom })
const { key } = await keys.issue(one.email, '')
const tokenOf = async (email: string) =>
  `Bearer ${(await login({ Email: email, Password: PASSWORD })).json().data.Token}`
const [authorization, operator, stranger] = await Promise.all([one, office, other].map(({ email }) => tokenOf(email)))

const deliver = async (body: object, apiKey = key): Promise<string> => {
  const answer = await app.inject({
    method: 'POST',
    url: '/Purchase/update',
    headers: { ApiKey: apiKey, 'accept-encoding': 'gzip, br' },
    payload: body,
  })
  expect(answer.headers).not.toHaveProperty('vary')
  return answer.json().data?.ReceiptID
}
const large = 'abc '.repeat(1000)
const receipt = await deliver({ OrderID: 'large', Status: 1, Text: large })
const small = await deliver({ OrderID: 'small', Status: 1 })
await deliver({ OrderID: 'refused', Status: 9 })
await app.flushRefusals()

const get = (url: string, headers = {}, more: InjectOptions = {}) =>
  app.inject({ url, headers: { authorization, ...headers }, ...more })

const tagged = [
  `/Purchase/delivery/${receipt}`,
  `/Purchase/delivery/${receipt}/payload`,
  '/Purchase/detail/large',
  '/Purchase/detail/large?payload=full',
  '/Purchase/list',
  '/Purchase/list?limit=1',
  '/Customer/Get',
  '/.well-known/jwks.json',
  '/openapi.yaml',
  '/openapi.json',
  '/docs',
  '/docs/reference.json',
  '/docs/operators.json',
]
const untagged = ['/', '/livez', '/readyz', '/Purchase/feed']

describe('an answer that stays the same', () => {
  it.each(tagged)('has a weak ETag: %s', async (url) => {
    const first = await get(url)
    const { etag } = first.headers
    expect(etag).toMatch(/^W\/"[\w-]{22}"$/)
    expect(first.headers.vary).toBe('Accept-Encoding')
    for (const coding of ['gzip', 'br', 'identity'])
      expect((await get(url, { 'accept-encoding': coding })).headers.etag).toBe(etag)
  })

  it.each(tagged)('is not sent again to who has it, under GET and HEAD: %s', async (url) => {
    const first = await get(url)
    for (const method of ['GET', 'HEAD'] as const) {
      for (const list of [first.headers.etag, String(first.headers.etag).slice(2), `"x", ${first.headers.etag}`, '*']) {
        const again = await get(url, { 'if-none-match': list, 'accept-encoding': 'gzip' }, { method })
        expect([again.statusCode, again.payload]).toEqual([304, ''])
        expect(again.headers).toMatchObject({
          etag: first.headers.etag,
          vary: 'Accept-Encoding',
          'cache-control': first.headers['cache-control'],
          'x-request-id': expect.any(String),
        })
        for (const name of ['content-length', 'content-type', 'content-encoding', 'transfer-encoding'])
          expect(again.headers).not.toHaveProperty(name)
      }
      const changed = await get(url, { 'if-none-match': 'W/"x", junk' }, { method })
      expect([changed.statusCode, changed.payload]).toEqual([200, method === 'GET' ? first.payload : ''])
    }
  })

  it.each(untagged)('only: %s has no ETag and is sent whatever the client has', async (url) => {
    const answer = await get(url, { 'if-none-match': '*' })
    expect([answer.statusCode, answer.headers.etag]).toEqual([200, undefined])
  })

  it('has another tag once it has changed', async () => {
    const tags = new Set<unknown>()
    for (const Status of [1, 2, 3]) {
      await deliver({ OrderID: 'changing', Status })
      for (const url of ['/Purchase/detail/changing', '/Purchase/list']) tags.add((await get(url)).headers.etag)
    }
    expect(tags.size).toBe(6)
  })

  it('is a 404 or 401 as before to others, whatever they claim to have', async () => {
    const headers = { 'if-none-match': `*` }
    const url = `/Purchase/delivery/${receipt}`
    expect((await get(url, { ...headers, authorization: stranger })).statusCode).toBe(404)
    expect((await app.inject({ url, headers })).statusCode).toBe(401)
  })
})

const unpack = { gzip: gunzipSync, br: brotliDecompressSync }

describe('compression', () => {
  const compressed = [...tagged.filter((url) => !/Get|jwks|list|detail\/large$/.test(url)), '/docs', '/Purchase/feed']

  it.each(compressed)('is in both codings what the plain answer is, with the right length: %s', async (url) => {
    const shown = (text: string) => text.replace(/"NextCursor":"[^"]*"/, '')
    const plain = await get(url)
    expect(plain.headers).not.toHaveProperty('content-encoding')
    for (const coding of ['gzip', 'br'] as const) {
      const packed = await get(url, { 'accept-encoding': `${coding}, x` })
      expect(packed.headers).toMatchObject({ vary: 'Accept-Encoding', 'content-encoding': coding })
      expect(shown(unpack[coding](packed.rawPayload).toString())).toBe(shown(plain.payload))
      expect(packed.headers['content-length']).toBe(String(packed.rawPayload.length))
      expect(packed.rawPayload.length).toBeLessThan(plain.rawPayload.length / 2)
      expect(packed.headers['content-type']).toBe(plain.headers['content-type'])
      if (url === '/Purchase/feed') continue
      const head = await get(url, { 'accept-encoding': coding }, { method: 'HEAD' })
      const { date: _, 'x-request-id': id, ...headers } = packed.headers
      expect([head.statusCode, head.payload]).toEqual([200, ''])
      expect(head.headers).toMatchObject(headers)
    }
  })

  it('begins at 1 KiB, or below where a plain answer is refused', async () => {
    const url = `/Purchase/delivery/${small}/payload`
    expect((await get(url, { 'accept-encoding': 'gzip' })).headers).not.toHaveProperty('content-encoding')
    const packed = await get(url, { 'accept-encoding': 'gzip, identity;q=0' })
    expect(gunzipSync(packed.rawPayload).toString()).toBe('{"OrderID":"small","Status":1}')
    for (const [length, coding] of [
      [1023, undefined],
      [1024, 'gzip'],
    ] as const) {
      const Text = 'x'.repeat(length - '{"Status":1,"Text":""}'.length)
      const exact = await deliver({ Status: 1, Text })
      const answer = await get(`/Purchase/delivery/${exact}/payload`, { 'accept-encoding': 'gzip' })
      expect(answer.headers['content-encoding']).toBe(coding)
    }
  })

  it('is left out where one answer holds data of several customers, and the answer says so to proxies', async () => {
    const asOperator = (query: string) =>
      get(`/Purchase/${query}`, { authorization: operator, 'accept-encoding': 'gzip' })
    for (const mixed of ['feed', 'feed?payload=none', 'list']) {
      const { headers } = await asOperator(mixed)
      expect(headers).toMatchObject({ 'cache-control': 'no-store, no-transform' })
      expect(headers).not.toHaveProperty('content-encoding')
      expect(headers).not.toHaveProperty('vary')
    }
    const { headers } = await asOperator(`feed?customer=${one.id}`)
    expect(headers).toMatchObject({ 'content-encoding': 'gzip', 'cache-control': 'no-store' })
  })

  it('is left out of logins, deliveries and refusals', async () => {
    const wants = { 'accept-encoding': 'gzip, identity;q=0' }
    const callbackData = large
    const answers = [
      await login({ Email: one.email, Password: PASSWORD, callbackData }, { headers: wants }),
      await login({ callbackData }, { headers: wants }),
      await app.inject({ method: 'POST', url: '/Purchase/update', headers: wants, payload: { large } }),
      await get(`/Purchase/list?${'x'.repeat(3000)}=1`, wants),
      await get('/nowhere', wants),
      await get(LOGIN, wants),
    ]
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([200, 400, 401, 400, 404, 405])
    for (const { headers } of answers) expect(headers).not.toHaveProperty('content-encoding')
  })

  it('concerns every GET route of the contract alike, except those of operators', async () => {
    const [refused] = (await get('/Supplier/refusals', { ApiKey: key })).json().data.Refusals
    const endpoint = webhook()
    await store.webhooks.add(endpoint)
    for (const [path, { get: operation }] of Object.entries(published.paths)) {
      if (!operation) continue
      const url = path
        .replace(/\{endpointId\}\/deliveries/, `$&?receiptId=${receipt}`)
        .replace(/\{endpointId\}/, endpoint.id)
        .replace(/\{orderId\}/, 'large')
        .replace(/\{receiptId\}/, receipt)
        .replace(/\{refusalId\}/, refused.RefusalID)
        .replace(/\{customerId\}/, one.id)
      const forOperators = isForOperators(operation)
      const headers = { 'accept-encoding': 'gzip, identity;q=0', ApiKey: key }
      const answer = await get(url, { ...headers, ...(forOperators && { authorization: operator }) })
      const coding = forOperators ? undefined : 'gzip'
      expect([url, answer.statusCode, answer.headers['content-encoding']]).toEqual([url, 200, coding])
      if (!forOperators) expect(gunzipSync(answer.rawPayload).length).toBeGreaterThan(0)
    }
  })
})
