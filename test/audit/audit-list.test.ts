import { describe, expect, it } from 'vitest'
import { message } from '#src/lib/messages/message.ts'
import type { AuditEvent } from '#src/store/store.ts'
import { failure } from '../support/app/failure.ts'
import { addSupplier, readingSupplier } from '../support/app/supplier.ts'
import { testApp } from '../support/app/test-app.ts'
import { auditEvent } from '../support/store/store-rows.ts'
import { storesOfRun } from '../support/store/stores.ts'

interface Listed {
  readonly At: string
  readonly Action: string
  readonly KeyID: string | null
  readonly Details: Record<string, unknown>
}

describe.each(storesOfRun())('GET /Operator/audit on %s', async (_name, emptyStore) => {
  const service = await testApp(await emptyStore())
  const { store, clock } = service
  const operator = await readingSupplier(service, { scope: 'operator', authority: [] })
  const readOnly = await readingSupplier(service, { scope: 'operator:read', authority: [] })
  const one = await addSupplier(service)
  const other = await addSupplier(service)

  const pageOf = async (query = ''): Promise<{ Events: Listed[]; NextCursor: string | null }> => {
    const answer = await operator.get(`/Operator/audit?${query}`)
    expect(answer.statusCode, answer.payload).toBe(200)
    return answer.json().data
  }
  const walk = async (query: string) => {
    const all: Listed[] = []
    for (let cursor = ''; ; ) {
      const { Events, NextCursor } = await pageOf(`${query}${cursor && `&cursor=${cursor}`}`)
      all.push(...Events)
      if (NextCursor === null) return all
      cursor = NextCursor
      await store.audit.append([auditEvent({ at: clock.now() + 1_000_000, action: 'late' })])
    }
  }

  const start = clock.now()
  const at = (n: number) => start + Math.floor(n / 2) * 1000
  const time = (n: number) => new Date(at(n)).toISOString()
  const events: AuditEvent[] = Array.from({ length: 30 }, (_, n) => {
    const owner = n % 3 === 0 ? one : other
    const isRefusal = n % 2 === 0
    return auditEvent({
      at: at(n),
      actor: isRefusal ? 'api' : 'console:ö@example.com',
      action: isRefusal ? 'delivery.refused' : 'key.set',
      customerId: n % 5 === 4 ? null : owner.customer.id,
      address: '::1',
      requestId: `r-${n % 4}`,
      orderId: isRefusal ? `PO-${n % 3}` : null,
      keyId: isRefusal && n % 5 !== 4 ? owner.keyId : null,
      details: { n, ...(!isRefusal && n % 5 !== 4 && { keyId: owner.keyId }) },
    })
  })
  await store.audit.append(events)
  const nth = (which: (n: number) => boolean): number[] =>
    events
      .map((_, n) => n)
      .filter(which)
      .toReversed()

  it('shows every event with all that is known, newest first', async () => {
    const { Events } = await pageOf(`limit=30&to=${time(30)}`)
    expect(Events.map(({ Details }) => Details.n)).toEqual(nth(() => true))
    expect(Events[29]).toEqual({
      At: new Date(start).toISOString(),
      Actor: 'api',
      Action: 'delivery.refused',
      CustomerID: one.customer.id,
      Customer: one.customer.email,
      Address: '::1',
      RequestID: 'r-0',
      RefusalID: null,
      OrderID: 'PO-0',
      KeyID: one.keyId,
      Details: { n: 0 },
    })
    expect(Events[28]).toMatchObject({ Action: 'key.set', KeyID: other.keyId, OrderID: null })
    const answer = await readOnly.get('/Operator/audit')
    expect([answer.statusCode, answer.headers['cache-control']]).toEqual([200, expect.stringContaining('no-store')])
  })

  it('shows messages in English, and beside them their codes and values', async () => {
    const reason = message('KEY_IS_REVOKED', { key: 'k' })
    const details = { errorCode: 'API_KEY_INVALID', reason, message: 'an old text' }
    await store.audit.append([
      auditEvent({ at: start + 86_400_000, requestId: 'told', action: 'delivery.refused', details }),
    ])
    expect((await pageOf('requestId=told')).Events.map(({ Details }) => Details)).toEqual([
      {
        errorCode: 'API_KEY_INVALID',
        reason: 'key k is revoked',
        message: 'an old text',
        messages: { reason: { code: 'KEY_IS_REVOKED', values: { key: 'k' } } },
      },
    ])
  })

  it('is filtered by everything, alone and together, in pages without gaps or repeats while more happens', async () => {
    const owns = (n: number) => n % 5 !== 4
    for (const limit of [1, 7, 100]) {
      const list = async (query: string) => (await walk(`${query}&limit=${limit}`)).map(({ Details }) => Details.n)
      const to = `&to=${time(30)}`
      expect(await list(`customer=${one.customer.id}`)).toEqual(nth((n) => n % 3 === 0 && owns(n)))
      expect(await list(`customer=${one.customer.email.toUpperCase()}&action=key`)).toEqual(
        nth((n) => n % 3 === 0 && owns(n) && n % 2 === 1),
      )
      expect(await list(`action=delivery.${to}`)).toEqual(nth((n) => n % 2 === 0))
      expect(await list('orderId=PO-1')).toEqual(nth((n) => n % 2 === 0 && n % 3 === 1))
      expect(await list('requestId=r-3')).toEqual(nth((n) => n % 4 === 3))
      expect(await list(`requestId=r-3&customer=${one.customer.id}`)).toEqual(
        nth((n) => n % 4 === 3 && n % 3 === 0 && owns(n)),
      )
      expect(await list(`keyId=${one.keyId}`)).toEqual(nth((n) => n % 3 === 0 && owns(n)))
      expect(await list(`keyId=${one.keyId}&customer=${other.customer.id}`)).toEqual([])
      expect(await list(`from=${time(10)}&to=${time(20)}`)).toEqual(nth((n) => n >= 10 && n < 20))
      expect(await list(`from=${time(10)}&to=${time(20)}&orderId=PO-2`)).toEqual(
        nth((n) => n >= 10 && n < 20 && n % 2 === 0 && n % 3 === 2),
      )
    }
  })

  it.each([
    'keyId=unknown',
    'keyId=%00',
    'orderId=%ED%A0%80',
    'requestId=%00',
    'action=%25',
    'action=KEY',
    'orderId=_',
    "requestId='%20OR%201=1%20--",
  ])('finds nothing for %s', async (query) => {
    expect(await walk(query)).toEqual([])
  })

  it('knows no events of a customer that there is not', async () => {
    const unknown = await operator.get('/Operator/audit?customer=nobody')
    expect([unknown.statusCode, unknown.json()]).toEqual([404, failure('CUSTOMER_NOT_FOUND')])
  })
})
