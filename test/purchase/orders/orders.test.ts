import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyJson } from '../../support/any-text.ts'
import { failure } from '../../support/app/failure.ts'
import { readingSupplier } from '../../support/app/supplier.ts'
import { testApp } from '../../support/app/test-app.ts'

const service = await testApp()
const { app, log } = service
const main = await readingSupplier(service)
const operator = await readingSupplier(service, { scope: 'operator' })

interface OrderData {
  readonly Status: number
  readonly Deliveries: readonly { readonly ReceiptID: string }[]
  readonly NextCursor: string | null
}

const detailOf = (orderId: string, query = '') => `/Purchase/detail/${encodeURIComponent(orderId)}${query}`
const ok = (data: unknown) => ({ data, success: true, message: 'OK' })
const UNKNOWN_RECEIPT = '01a1fd40-d173-7140-8bbb-000000000000'

describe('every route that reads back', async () => {
  const { ReceiptID } = await main.deliver({ OrderID: 'access', Status: 1 })
  const routes = [
    '/Customer/Get',
    '/Purchase/list',
    detailOf('access'),
    `/Purchase/delivery/${ReceiptID}`,
    `/Purchase/delivery/${ReceiptID}/payload`,
  ]

  it.each(routes)('%s answers its customer in any letter case and with any Content-Type', async (url) => {
    const answer = await main.get(url)
    expect(answer.statusCode).toBe(200)
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const again = await main.get(`${url.toLowerCase().replace('get', 'GET')}/`, headers)
    expect([again.statusCode, again.payload]).toEqual([200, answer.payload])
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'content-length': String(answer.rawPayload.length),
    })
    const head = await main.get(url, {}, { method: 'HEAD' })
    expect([head.statusCode, head.payload]).toEqual([200, ''])
    expect(head.headers['content-length']).toBe(answer.headers['content-length'])
  })

  it.each(routes)('%s refuses a request without a valid token, whatever else it contains', async (url) => {
    const refusals: [Record<string, string>, string, string][] = [
      [{}, 'TOKEN_MISSING', 'Bearer realm="teslim"'],
      [{ authorization: 'Basic YTpi' }, 'TOKEN_MALFORMED', 'Bearer realm="teslim", error="invalid_token"'],
      [
        { authorization: `Bearer ${main.token.slice(0, -4)}AAAA` },
        'TOKEN_SIGNATURE',
        'Bearer realm="teslim", error="invalid_token"',
      ],
      [{ authorization: main.token }, 'TOKEN_MALFORMED', 'Bearer realm="teslim", error="invalid_token"'],
    ]
    for (const [headers, code, challenge] of refusals) {
      for (const address of [url, `${url}?access_token=${main.token}&nonsense=1&limit=x`]) {
        const answer = await app.inject({ url: address, headers })
        expect([answer.statusCode, answer.json()]).toEqual([401, failure(code)])
        expect(answer.headers['www-authenticate']).toBe(challenge)
      }
    }
    expect((await app.inject({ method: 'HEAD', url })).statusCode).toBe(401)
  })

  it('leaves a log line with the route and the customer, not the order or the query', async () => {
    log.length = 0
    await main.get(detailOf('access', '?limit=7'))
    expect(log).toMatchObject([{ route: '/Purchase/detail/:orderId', status: 200, customerId: main.customer.id }])
    expect(JSON.stringify(log)).not.toMatch(/access|limit/)
  })
})

describe('GET /Customer/Get', () => {
  it('returns the customer with its rules and regions', async () => {
    const { customer, get } = await readingSupplier(service, { authority: ['A-*', 'b'], regions: ['TR', 'DE'] })
    expect((await get('/Customer/Get')).json()).toEqual(
      ok({
        CustomerID: customer.id,
        Email: customer.email,
        Name: '',
        IsAPI: true,
        Scope: 'customer',
        SeesPayloads: true,
        IsOperator: false,
        IsReadOnly: false,
        Region: 'TR',
        Regions: ['DE', 'TR'],
        AuthorityRules: ['A-*', 'b'],
      }),
    )
    await service.customers.allow(customer.id, ['c'])
    expect((await get('/Customer/Get')).json().data.AuthorityRules).toEqual(['A-*', 'b', 'c'])
    expect((await operator.get('/Customer/Get')).json().data.IsOperator).toBe(true)
  })
})

it.each(['no-receipt', '%00', '..%2f', `${UNKNOWN_RECEIPT}%0a`, UNKNOWN_RECEIPT.replaceAll('-', '')])(
  'a receipt %s is none',
  async (receipt) => {
    expect((await operator.get(`/Purchase/delivery/${receipt}`)).json()).toEqual(failure('DELIVERY_NOT_FOUND'))
  },
)

describe('an operator', async () => {
  const one = await readingSupplier(service)
  const two = await readingSupplier(service)
  const orderId = `shared-${one.customer.id}`
  for (const each of [one, two]) await each.deliver({ OrderID: orderId, Status: 1 })

  it('sees the orders of all customers, or of one by id or e-mail address', async () => {
    const owners = async (query: string): Promise<string[]> => {
      const { data } = (await operator.get(`/Purchase/list?orderId=${orderId}${query}`)).json()
      return data.Orders.map(({ CustomerID }: { CustomerID: string }) => CustomerID)
    }
    expect(await owners('')).toEqual([one.customer.id, two.customer.id])
    expect(await owners(`&customer=${two.customer.id}`)).toEqual([two.customer.id])
    expect(await owners(`&customer=${encodeURIComponent(` ${one.customer.email.toUpperCase()}`)}`)).toEqual([
      one.customer.id,
    ])
  })

  it('must name the customer if several have an order with that id', async () => {
    const answer = await operator.get(detailOf(orderId))
    expect([answer.statusCode, answer.json()]).toEqual([409, failure('ORDER_AMBIGUOUS')])
    const named = await operator.get(detailOf(orderId, `?customer=${two.customer.id}`))
    expect(named.json().data.CustomerID).toBe(two.customer.id)
  })
})

describe('one delivery', () => {
  it('comes back with its payload byte for byte, and as the exact bytes', async () => {
    const body =
      '\ufeff{ "OrderID":"ı/1",\t"Status":2.0, "n":12345678901234567890, "d":1, "d":2, "e":"\\u0041\\ud800" }\r\n'
    const receipt = await main.deliver(body)
    const answer = await main.get(`/Purchase/delivery/${receipt.ReceiptID.toUpperCase()}`)
    const start = JSON.stringify({ ReceiptID: receipt.ReceiptID, Status: 2, Duplicate: false }).slice(0, -1)
    const rest = `"ReceivedAt":"${receipt.ReceivedAt}","OrderID":"ı/1","CustomerID":"${main.customer.id}"`
    const { KeyID, KeyLabel, Address, RequestID } = answer.json().data
    const origin = JSON.stringify({ KeyID, KeyLabel, Address, RequestID }).slice(1, -1)
    expect(answer.payload).toBe(
      `{"data":${start},${rest},${origin},"Payload":${body.slice(1)}},"success":true,"message":"OK"}\n`,
    )
    const exact = await main.get(`/Purchase/delivery/${receipt.ReceiptID}/payload`)
    expect(exact.rawPayload.equals(Buffer.from(body))).toBe(true)
  })

  it('comes with its SHA-256 for operators, uncompressed, and for nobody else', async () => {
    const body = `{"Status":1,"Text":"${'x'.repeat(2000)}"}`
    const { ReceiptID } = await main.deliver(body)
    const packed = { 'accept-encoding': 'gzip' }
    const { headers, payload } = await operator.get(`/Purchase/delivery/${ReceiptID}/payload`, packed)
    expect(payload).toBe(body)
    expect(headers['repr-digest']).toBe(`sha-256=:${createHash('sha256').update(body).digest('base64')}:`)
    expect(headers['cache-control']).toContain('no-transform')
    const own = (await main.get(`/Purchase/delivery/${ReceiptID}/payload`, packed)).headers
    expect([own['content-encoding'], own['repr-digest']]).toEqual(['gzip', undefined])
  })

  it('without an order names none', async () => {
    const { ReceiptID } = await main.deliver({ Status: 0 })
    const { data } = (await main.get(`/Purchase/delivery/${ReceiptID}`)).json()
    expect(data).not.toHaveProperty('OrderID')
    expect(data).toMatchObject({ ReceiptID, Status: 0, Payload: { Status: 0 } })
  })

  it('is returned byte for byte, whatever JSON it is', async () => {
    const space = fc.constantFrom('', ' ', '\r\n', '\t\n ')
    const values = fc.oneof(anyJson(), fc.constantFrom('1e400', '-0.0', '"\\u0000\u{1f600}"'))
    await fc.assert(
      fc.asyncProperty(space, values, fc.nat(3), space, async (before, value, status, after) => {
        fc.pre(!/__proto__|constructor/.test(value))
        const body = `${before}{"OrderID":"spliced","Status":${status},"x":${value},"x":${value}}${after}`
        const { ReceiptID } = await main.deliver(body)
        const answer = await main.get(`/Purchase/delivery/${ReceiptID}`)
        expect(answer.payload.endsWith(`"Payload":${body}},"success":true,"message":"OK"}\n`)).toBe(true)
        expect(() => answer.json()).not.toThrow()
        const detail = await main.get(detailOf('spliced', '?payload=full&limit=1'))
        expect(detail.payload).toContain(`"Payload":${body}}],"NextCursor":`)
        expect((await main.get(`/Purchase/delivery/${ReceiptID}/payload`)).payload).toBe(body)
      }),
      { numRuns: 60 },
    )
  })
})

describe('an order', () => {
  it('is shown with its state and its whole history, newest first', async () => {
    const bodies = [1, 2, 2, 3].map((Status) => JSON.stringify({ OrderID: 'history', Status }))
    const receipts = []
    for (const body of bodies) receipts.push(await main.deliver(body))
    const { data } = (await main.get(detailOf('history'))).json()
    const last = receipts[3]
    const { Deliveries, ...state } = data
    expect(state).toEqual({
      OrderID: 'history',
      CustomerID: main.customer.id,
      Status: 3,
      ReceiptID: last?.ReceiptID,
      ReceivedAt: last?.ReceivedAt,
      NextCursor: null,
    })
    const summary = Deliveries.map(({ Status, Duplicate }: Record<string, unknown>) => [Status, Duplicate])
    expect(summary).toEqual([
      [3, false],
      [2, true],
      [2, false],
      [1, false],
    ])
    expect(Deliveries[0]).toEqual({ ...last, OrderID: undefined })
    const full = (await main.get(detailOf('history', '?payload=full'))).json().data.Deliveries
    expect(full.map(({ Payload }: { Payload: unknown }) => JSON.stringify(Payload))).toEqual(bodies.toReversed())
    expect(full.map(({ Payload: _, ...rest }: { Payload: unknown }) => rest)).toEqual(Deliveries)
  })

  it('whose last delivery was an echo shows the state that the echo repeats', async () => {
    const first = await main.deliver({ OrderID: 'echoed', Status: 2 })
    await main.deliver({ OrderID: 'echoed', Status: 2 })
    const one = (await main.get(detailOf('echoed', '?limit=1'))).json().data
    expect(one).toMatchObject({ ReceiptID: first.ReceiptID, Status: 2, Deliveries: [{ Duplicate: true }] })
    const rest = (await main.get(detailOf('echoed', `?limit=1&cursor=${one.NextCursor}`))).json().data
    expect(rest).toMatchObject({ ReceiptID: first.ReceiptID, Deliveries: [{ Duplicate: false }], NextCursor: null })
  })

  it('with a long history is shown in pages that do not shift while more comes in', async () => {
    const sent: string[] = []
    const deliverOne = async (n: number) => {
      sent.push((await main.deliver({ OrderID: 'long', Status: n % 4, n })).ReceiptID)
    }
    for (let n = 0; n < 25; n++) await deliverOne(n)
    const wanted = sent.toReversed()
    const seen: string[] = []
    let cursor: string | null = ''
    for (let n = 0; cursor !== null; n++) {
      const answer: { json(): { data: OrderData } } = await main.get(
        detailOf('long', `?limit=4${cursor && `&cursor=${cursor}`}`),
      )
      const { data } = answer.json()
      seen.push(...data.Deliveries.map(({ ReceiptID }) => ReceiptID))
      expect(data.Status).toBe((24 + n) % 4)
      cursor = data.NextCursor
      await deliverOne(25 + n)
    }
    expect(seen).toEqual(wanted)
  })

  it('with large payloads is shown in pages of some megabytes', async () => {
    const filling = 'ü'.repeat(450_000)
    for (let n = 0; n < 6; n++) await main.deliver({ OrderID: 'large', Status: 1, n, filling })
    const first = (await main.get(detailOf('large', '?payload=full'))).json().data
    expect(first.Deliveries.length).toBe(4)
    const second = (await main.get(detailOf('large', `?payload=full&cursor=${first.NextCursor}`))).json().data
    const numbers = [...first.Deliveries, ...second.Deliveries].map(({ Payload }) => Payload.n)
    expect([numbers, second.NextCursor]).toEqual([[5, 4, 3, 2, 1, 0], null])
  })

  it.each([
    'a/b',
    '/',
    'a/',
    'AbC',
    'çay ☕ \u{1f600}',
    '%2F',
    '50%',
    '?x=1#y;z',
    '"\\\n\t',
    '__proto__',
    ':orderId',
    'long/payload',
    '漢'.repeat(200),
    '\u{1f600}'.repeat(100),
  ])('of the id %j is found', async (OrderID) => {
    const { ReceiptID } = await main.deliver({ OrderID, Status: 1 })
    expect((await main.get(detailOf(OrderID))).json().data).toMatchObject({ OrderID, ReceiptID })
    const { Orders } = (await main.get(`/Purchase/list?orderId=${encodeURIComponent(OrderID)}`)).json().data
    expect(Orders).toMatchObject([{ OrderID, ReceiptID }])
  })

  it('whose id contains NUL is found under its escaped id', async () => {
    await main.deliver('{"OrderID":"nul\\u0000","Status":1}')
    expect((await main.get(detailOf('nul\\u0000'))).json().data.OrderID).toBe('nul\\u0000')
    expect((await main.get(detailOf('nul\0'))).json()).toEqual(failure('ORDER_NOT_FOUND'))
    expect((await main.get('/Purchase/list?orderId=nul%00')).json()).toEqual(ok({ Orders: [], NextCursor: null }))
    expect((await operator.get('/Purchase/list?customer=%00')).json()).toEqual(failure('CUSTOMER_NOT_FOUND'))
  })

  it.each(['.', '..'])('with the id %s is found in the list, because no address can end in it', async (OrderID) => {
    await main.deliver({ OrderID, Status: 1 })
    expect((await main.get(`/Purchase/list?orderId=${OrderID}`)).json().data.Orders).toMatchObject([{ OrderID }])
  })
})
