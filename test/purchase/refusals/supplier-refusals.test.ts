import type { InjectOptions } from 'fastify'
import { describe, expect, it } from 'vitest'
import { addSupplier } from '../../support/app/supplier.ts'
import { type TestApp, testApp } from '../../support/app/test-app.ts'
import { storesOfRun } from '../../support/store/stores.ts'

interface Listed {
  readonly RefusalID: string
  readonly RefusedAt: string
  readonly ErrorCode: string
  readonly Message: string
  readonly RequestID: string
  readonly OrderID?: string
  readonly KeyID?: string
}

const suppliersOf = (service: TestApp) => {
  const { app, clock } = service
  return async (authority: string[] = ['SKU-*']) => {
    const supplier = await addSupplier(service, { authority })
    const get = (url: string, key = supplier.key, options: InjectOptions = {}) =>
      app.inject({ url, headers: { ApiKey: key }, ...options })
    const list = async (query = '', key = supplier.key): Promise<{ Refusals: Listed[]; NextCursor: string | null }> => {
      const answer = await get(`/Supplier/refusals${query}`, key)
      expect([answer.statusCode, answer.json().message]).toEqual([200, 'OK'])
      return answer.json().data
    }
    const deliver = async (body: unknown, key = supplier.key, headers = {}) => {
      // A minute later, so that the window of the audit log is a new one.
      clock.time += 60_000
      const payload = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
      const answer = await app.inject({
        method: 'POST',
        url: '/Purchase/update',
        headers: { ApiKey: key, ...headers },
        payload,
      })
      await app.flushRefusals()
      return answer.json()
    }
    return { ...supplier, get, list, deliver }
  }
}

describe.each(storesOfRun())('GET /Supplier/refusals on %s', async (_name, emptyStore) => {
  const service = await testApp(await emptyStore())
  const { app, clock, customers } = service
  const newSupplier = suppliersOf(service)

  it('lists a refusal of the supplier whatever strangers have refused at the same time, and so does the audit log', async () => {
    const { key, customer, list } = await newSupplier()
    const other = await newSupplier()
    clock.time += 60_000
    const refuse = (headers: Record<string, string>) =>
      app.inject({ method: 'POST', url: '/Purchase/update', headers, payload: '{"Status":1,"ProductID":"X-1"}' })
    const kinds = [
      {},
      { ApiKey: 'nonsense' },
      { 'Content-Encoding': 'gzip' },
      { Host: 'a b' },
      { Expect: 'tea' },
      { 'Transfer-Encoding': 'gzip' },
    ]
    const statuses = new Set<number>()
    for (let i = 0; i < 120; i++) statuses.add((await refuse(kinds[i % 6] as Record<string, string>)).statusCode)
    expect([...statuses].every((status) => status >= 400 && status < 500)).toBe(true)
    for (let i = 0; i < 30; i++) await refuse({ ApiKey: other.key })
    expect((await refuse({ ApiKey: key })).statusCode).toBe(403)
    await app.flushRefusals()
    expect((await list()).Refusals.map(({ ErrorCode }) => ErrorCode)).toEqual(['PRODUCT_NOT_AUTHORIZED'])
    const events = await service.store.audit.list({ customerId: customer.id, action: 'delivery.refused', limit: 9 })
    expect(events).toMatchObject([{ details: { errorCode: 'PRODUCT_NOT_AUTHORIZED' } }])

    // A minute later the other supplier is told of what its list does not show.
    clock.time += 60_000
    await app.flushRefusals()
    const shown = (await other.list()).Refusals.map(({ ErrorCode }) => ErrorCode)
    expect(shown).toEqual(['REFUSALS_NOT_LISTED', ...new Array(10).fill('PRODUCT_NOT_AUTHORIZED')])
    expect((await other.list('?limit=1')).Refusals).toMatchObject([
      {
        Message: 'Of the last minute 20 more refusals are not listed one by one: 20 PRODUCT_NOT_AUTHORIZED.',
        RequestID: '',
      },
    ])
    expect((await list()).Refusals).toHaveLength(1)
  })

  it('lists what was refused, newest first, as the supplier was told', async () => {
    const { deliver, list, keyId } = await newSupplier()
    const first = await deliver({ Status: 7, OrderID: 'PO-1' })
    await deliver({ Status: 1, OrderID: 'PO-1', ProductID: 'SKU-1' })
    const second = await deliver({ Status: 1, OrderID: 'PO-2', ProductID: 'X-1' })
    const third = await deliver('{"Status":1')
    const entry = (refusal: { errorCode: string; message: string; requestId: string }, minutes: number, more = {}) => ({
      MessageCode: expect.any(String),
      MessageValues: expect.any(Object),
      RefusalID: expect.any(String),
      RefusedAt: new Date(clock.now() - minutes * 60_000).toISOString(),
      ErrorCode: refusal.errorCode,
      Message: refusal.message,
      RequestID: refusal.requestId,
      KeyID: keyId,
      KeyLabel: 'test',
      ...more,
    })
    expect(await list()).toEqual({
      Refusals: [entry(third, 0), entry(second, 1, { OrderID: 'PO-2' }), entry(first, 3, { OrderID: 'PO-1' })],
      NextCursor: null,
    })
  })

  it('shows refusals of a key that was revoked or has expired, and of a disabled customer, without the reason', async () => {
    const { customer, apiKeys, deliver, list } = await newSupplier()
    const [revoked, expired] = [await apiKeys.issue(customer.id, 'old'), await apiKeys.issue(customer.id, 'older', 1)]
    await apiKeys.revoke(revoked.view.id)
    await deliver({ Status: 1, OrderID: 'PO-1' }, revoked.key)
    await deliver({ Status: 1 }, expired.key)
    await customers.disable(customer.id)
    await deliver({ Status: 1 })
    await customers.enable(customer.id)
    clock.time += 1000
    const { Refusals } = await list()
    const invalid = { ErrorCode: 'API_KEY_INVALID', Message: 'The API key is not valid.' }
    expect(Refusals).toMatchObject([
      { ...invalid, KeyLabel: 'test' },
      { ...invalid, KeyLabel: 'older', KeyID: expired.view.id },
      { ...invalid, KeyLabel: 'old', KeyID: revoked.view.id },
    ])
    expect(JSON.stringify(Refusals)).not.toMatch(/revoked|expired|disabled|127\.0\.0\.1/)
  })

  it('shows a refused bearer token beside a valid key, and a rate limit', async () => {
    const { deliver, list } = await newSupplier()
    const { errorCode } = await deliver({ Status: 1 }, undefined, { authorization: 'Bearer a.b.c' })
    expect((await list()).Refusals).toMatchObject([{ ErrorCode: errorCode, KeyLabel: 'test' }])
  })

  it('filters by order, code, request and time', async () => {
    const { deliver, list } = await newSupplier()
    const begin = clock.now()
    const { requestId } = await deliver({ Status: 7, OrderID: 'PO-ü' })
    for (const OrderID of ['PO-ü', 'PO-2']) await deliver({ Status: 1, OrderID, ProductID: 'X' })
    const codes = async (query: string) =>
      (await list(query)).Refusals.map(({ ErrorCode, OrderID }) => [ErrorCode, OrderID])
    const all = [
      ['PRODUCT_NOT_AUTHORIZED', 'PO-2'],
      ['PRODUCT_NOT_AUTHORIZED', 'PO-ü'],
      ['INVALID_REQUEST', 'PO-ü'],
    ]
    expect(await codes('')).toEqual(all)
    expect(await codes(`?orderId=${encodeURIComponent('PO-ü')}`)).toEqual(all.slice(1))
    expect(await codes('?ORDERID=po-2')).toEqual([])
    expect(await codes('?code=INVALID_REQUEST')).toEqual(all.slice(2))
    expect(await codes(`?requestId=${requestId}`)).toEqual(all.slice(2))
    const time = (minutes: number) => encodeURIComponent(new Date(begin + minutes * 60_000).toISOString())
    expect(await codes(`?from=${time(2)}`)).toEqual(all.slice(0, 2))
    expect(await codes(`?to=${time(2)}`)).toEqual(all.slice(2))
    expect(await codes(`?from=${time(2)}&to=${time(3)}&orderId=PO-2`)).toEqual([])
  })
})
