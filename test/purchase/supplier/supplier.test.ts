import { describe, expect, it } from 'vitest'
import { addSupplier } from '../../support/app/supplier.ts'
import { type TestApp, testApp, testAppBeside } from '../../support/app/test-app.ts'
import { storesOfRun } from '../../support/store/stores.ts'

interface Listed {
  readonly ReceiptID: string
  readonly OrderID?: string
  readonly Duplicate: boolean
}

/** A supplier that delivers and reads with its API key only. */
async function keyHolder(service: TestApp, more: Parameters<typeof addSupplier>[1] = {}, milliseconds?: number) {
  const supplier = await addSupplier(service, more, milliseconds)
  const { app } = service
  const headers = { ApiKey: supplier.key }
  const get = (url: string, more = {}, via = app) => via.inject({ url, headers: { ...headers, ...more } })
  const deliver = async (body: object): Promise<Listed & { ReceivedAt: string; Status: number }> =>
    (await app.inject({ method: 'POST', url: '/Purchase/update', headers, payload: JSON.stringify(body) })).json().data
  const page = async (query: string): Promise<{ Deliveries: readonly Listed[]; NextCursor: string | null }> => {
    const answer = await get(`/Supplier/deliveries?${query}`)
    expect(answer.statusCode, answer.payload).toBe(200)
    return answer.json().data
  }
  const list = async (query: string): Promise<string[]> => {
    const receipts: string[] = []
    for (let cursor = ''; ; ) {
      const { Deliveries, NextCursor } = await page(`${query}${cursor && `&cursor=${cursor}`}`)
      receipts.push(...Deliveries.map(({ ReceiptID }) => ReceiptID))
      if (NextCursor === null) return receipts
      cursor = NextCursor
    }
  }
  return { ...supplier, get, deliver, page, list }
}

describe.each(storesOfRun())('what a supplier reads by its API key on %s', async (_kind, emptyStore) => {
  const service = await testApp(await emptyStore())
  const { app, clock } = service
  const main = await keyHolder(service, { authority: ['*', 'A-*'] })
  const other = await keyHolder(service)
  const { ReceiptID } = await main.deliver({ OrderID: 'first', Status: 1, n: 9007199254740993n.toString() })
  const routes = [
    '/Supplier/Get',
    '/Supplier/deliveries',
    `/Supplier/delivery/${ReceiptID}`,
    `/Supplier/delivery/${ReceiptID}/payload`,
  ]

  it.each(routes)('%s answers a live key, whatever Authorization header comes with it', async (url) => {
    const answer = await main.get(url)
    expect(answer.statusCode).toBe(200)
    for (const authorization of ['Bearer x', 'Basic eDp5', '']) {
      const again = await main.get(url.toLowerCase(), { authorization })
      expect([again.statusCode, again.payload]).toEqual([200, answer.payload])
    }
    const head = await app.inject({ method: 'HEAD', url, headers: { ApiKey: main.key } })
    expect([head.statusCode, head.payload]).toEqual([200, ''])
  })

  it('tells what the key is and may do', async () => {
    const one = await keyHolder(service, { authority: ['A-*', 'b'] }, 86_400_000)
    const { data } = (await one.get('/Supplier/Get')).json()
    const at = (time: number) => new Date(time).toISOString()
    expect(data).toEqual({
      CustomerID: one.customer.id,
      Key: {
        KeyID: one.keyId,
        Label: 'test',
        CreatedAt: at(clock.time),
        ExpiresAt: at(clock.time + 86_400_000),
        Networks: null,
      },
      AuthorityRules: ['A-*', 'b'],
      Limits: { BodyBytes: 1_048_576, RateLimit: null, OrderIDRequired: false, IdempotencyDays: 7 },
    })
    expect(JSON.stringify(data)).not.toContain(one.key)
    const strict = await testAppBeside(service, { TESLIM_RATE_LIMIT: '60', TESLIM_ORDER_ID: 'required' })
    const limits = (await main.get('/Supplier/Get', {}, strict.app)).json().data
    expect(limits).toMatchObject({
      Key: { ExpiresAt: null },
      Limits: { RateLimit: 60, OrderIDRequired: true },
    })
  })

  it('lists what was delivered, newest first, in pages', async () => {
    const one = await keyHolder(service)
    const sent: Listed[] = []
    for (let n = 0; n < 30; n++) {
      clock.time += 1000
      const body = { ...(n % 5 && { OrderID: `PO-${n % 7}` }), Status: n % 4, Products: [{ Sku: `SKU-${n % 3}` }], n }
      sent.unshift(await one.deliver(body))
      await other.deliver({ ...body, other: true })
    }
    const echo = await one.deliver({ OrderID: 'PO-1', Status: 1, Products: [{ Sku: 'SKU-2' }], n: 29 })
    expect(echo.Duplicate).toBe(true)
    const all = (await one.page('')).Deliveries
    expect(all[0]).toEqual({
      ReceiptID: expect.not.stringContaining(echo.ReceiptID),
      OrderID: 'PO-1',
      Status: 1,
      Duplicate: true,
      ReceivedAt: new Date(clock.time).toISOString(),
    })
    expect(all.slice(1).map(({ ReceiptID }) => ReceiptID)).toEqual(sent.map(({ ReceiptID }) => ReceiptID))
    expect(await one.list('duplicate=true&limit=1')).toEqual([all[0]?.ReceiptID])
    expect((await one.list('limit=4')).length).toBe(all.length)
  })

  it('lists all deliveries of one instant before a time that is still to come', async () => {
    const one = await keyHolder(service)
    for (let n = 0; n < 40; n++) await one.deliver({ Status: 1, n })
    expect(await one.list('to=2100-01-01&limit=100')).toHaveLength(40)
  })

  it('shows one delivery as the customer sees it, byte for byte', async () => {
    const body = '{"OrderID":"bytes","Status":1, "n":9007199254740993}'
    const headers = { ApiKey: main.key }
    const sent = await app.inject({ method: 'POST', url: '/Purchase/update', headers, payload: body })
    const { ReceiptID, ReceivedAt } = sent.json().data
    const answer = await main.get(`/Supplier/delivery/${ReceiptID.toUpperCase()}`)
    expect(answer.payload).toContain(body)
    const CustomerID = main.customer.id
    const { Payload, ...rest } = answer.json().data
    expect(rest).toEqual({ ReceiptID, OrderID: 'bytes', CustomerID, Status: 1, Duplicate: false, ReceivedAt })
    expect((await main.get(`/Supplier/delivery/${ReceiptID}/payload`)).payload).toBe(body)
  })
})
