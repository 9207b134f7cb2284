import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { message } from '#src/lib/messages/message.ts'
import { failure } from '../../support/app/failure.ts'
import { addSupplier, type ReadingSupplier, readingSupplier } from '../../support/app/supplier.ts'
import { PASSWORD, testApp } from '../../support/app/test-app.ts'
import { storesOfRun } from '../../support/store/stores.ts'

interface Listed {
  readonly RefusalID: string
  readonly RequestID: string
  readonly CustomerID: string | null
  readonly ErrorCode: string
  readonly PayloadBytes?: number
}

type Reader = Pick<ReadingSupplier, 'get'>

describe.each(storesOfRun())('GET /Purchase/refusals on %s', async (_name, emptyStore) => {
  const service = await testApp({ TESLIM_KEEP_REFUSED: 'known', TESLIM_TOKEN_TTL: '31536000', ...(await emptyStore()) })
  const { app, clock } = service
  const operator = await readingSupplier(service, { scope: 'operator', authority: [] })

  const deliver = async (payload: string, ApiKey?: string): Promise<{ requestId: string }> => {
    // A minute later, so that the window of the audit log is a new one.
    clock.time += 60_000
    const headers = ApiKey === undefined ? {} : { ApiKey }
    const answer = await app.inject({ method: 'POST', url: '/Purchase/update', headers, payload })
    await app.flushRefusals()
    return answer.json()
  }
  const pageOf = async ({ get }: Reader, query = ''): Promise<{ Refusals: Listed[]; NextCursor: string | null }> => {
    const answer = await get(`/Purchase/refusals?${query}`)
    expect(answer.statusCode, answer.payload).toBe(200)
    return answer.json().data
  }
  const walk = async (who: Reader, query = '') => {
    const all: Listed[] = []
    for (let cursor = ''; ; ) {
      const { Refusals, NextCursor } = await pageOf(who, `${query}${cursor && `&cursor=${cursor}`}`)
      all.push(...Refusals)
      if (NextCursor === null) return all
      cursor = NextCursor
      await deliver('{}', 'tsl_late')
    }
  }
  const readerOf = async (Email: string): Promise<Reader> => {
    const { Token } = (await service.login({ Email, Password: PASSWORD })).json().data
    return { get: (url: string) => app.inject({ url, headers: { authorization: `Bearer ${Token}` } }) }
  }

  it('shows a customer its own refusals, and operators those of all and of nobody', async () => {
    const [mine, theirs] = [await addSupplier(service), await addSupplier(service)]
    const reader = await readerOf(mine.customer.email)
    const own = await deliver('{"Status":7,"OrderID":"PO-1"}', mine.key)
    await deliver('{"Status":8}', theirs.key)
    const unknown = await deliver('{"Status":1}', 'tsl_unknown')
    const missing = await deliver('{"Status":1}')
    const entry = {
      RefusalID: expect.any(String),
      RefusedAt: new Date(clock.now() - 3 * 60_000).toISOString(),
      ErrorCode: 'INVALID_REQUEST',
      Message: expect.stringContaining('/Status'),
      MessageCode: 'INVALID_REQUEST_AT',
      MessageValues: {
        problems: [message('PROBLEM_AT', { path: '/Status', problem: message('NOT_A_STATUS') })],
      },
      OrderID: 'PO-1',
      RequestID: own.requestId,
      KeyID: mine.keyId,
      KeyLabel: 'test',
      PayloadBytes: 29,
      CustomerID: mine.customer.id,
    }
    expect(await pageOf(reader)).toEqual({ Refusals: [entry], NextCursor: null })
    expect((await pageOf(operator, `customer=${mine.customer.email}`)).Refusals).toEqual([
      { ...entry, Customer: mine.customer.email },
    ])
    const all = (await pageOf(operator, 'limit=4')).Refusals
    expect(all).toMatchObject([
      {
        CustomerID: null,
        ErrorCode: 'API_KEY_MISSING',
        Message: 'The ApiKey header is missing.',
        MessageCode: 'API_KEY_MISSING',
        MessageValues: {},
        RequestID: missing.requestId,
      },
      {
        CustomerID: null,
        ErrorCode: 'API_KEY_INVALID',
        Message: 'The API key is not valid.',
        RequestID: unknown.requestId,
      },
      { CustomerID: theirs.customer.id },
      { ...entry, Customer: mine.customer.email },
    ])
    expect(JSON.stringify(all)).not.toContain('127.0.0.1')
  })

  it('says only to operators whether an API key was revoked, has expired, is of a disabled customer, or is unknown', async () => {
    const { customer, apiKeys, keyId, key } = await addSupplier(service)
    const expired = await apiKeys.issue(customer.id, 'old', 1)
    const reasonOf = async (ApiKey: string) => {
      await deliver('{"Status":1}', ApiKey)
      const [refusal] = (await pageOf(operator, 'limit=1')).Refusals
      return refusal
    }
    expect(await reasonOf('tsl_unknown')).toMatchObject({
      ReasonCode: 'KEY_UNKNOWN',
      Reason: 'unknown key',
      ReasonValues: {},
    })
    expect(await reasonOf(expired.key)).toMatchObject({
      ReasonCode: 'KEY_IS_EXPIRED',
      ReasonValues: { key: expired.view.id },
    })
    await service.customers.disable(customer.id)
    expect(await reasonOf(key)).toMatchObject({ ErrorCode: 'API_KEY_INVALID', ReasonCode: 'CUSTOMER_IS_DISABLED' })
    await service.customers.enable(customer.id)
    await apiKeys.revoke(keyId)
    expect(await reasonOf(key)).toMatchObject({ ReasonCode: 'KEY_IS_REVOKED', Reason: `key ${keyId} is revoked` })
    const own = (await pageOf(await readerOf(customer.email))).Refusals
    expect(own.map(({ ErrorCode }) => ErrorCode)).toEqual(new Array(3).fill('API_KEY_INVALID'))
    expect(JSON.stringify(own)).not.toMatch(/Reason|revoked|expired|disabled/)
  })

  it('shows one refusal by its id to its customer and to operators, as in the list, and to nobody else', async () => {
    const [mine, theirs] = [await addSupplier(service), await addSupplier(service)]
    await deliver('{"Status":7}', mine.key)
    await deliver('{"Status":1}', 'tsl_unknown')
    const [reader, stranger] = [await readerOf(mine.customer.email), await readerOf(theirs.customer.email)]
    const [ofNobody, own] = (await pageOf(operator, 'limit=2')).Refusals as [Listed, Listed]
    const find = async (who: Reader, id: string) => {
      const answer = await who.get(`/Purchase/refusal/${id}`)
      return [answer.statusCode, answer.json().data ?? answer.json()]
    }
    expect(await find(operator, own.RefusalID.toUpperCase())).toEqual([200, own])
    expect(await find(operator, ofNobody.RefusalID)).toEqual([200, ofNobody])
    expect(ofNobody).toMatchObject({ ReasonCode: 'KEY_UNKNOWN' })
    expect(await find(reader, own.RefusalID)).toEqual([200, (await pageOf(reader)).Refusals[0]])
    for (const [who, id] of [
      [stranger, own.RefusalID],
      [reader, ofNobody.RefusalID],
      [operator, own.RefusalID.slice(0, -1)],
      [operator, '01a1fd40-d173-7f02-9c11-5be2a7d3f84c'],
      [operator, '%00'],
    ] as const)
      expect(await find(who, id)).toEqual([404, failure('REFUSAL_NOT_FOUND')])
  })

  it('gives the body of a refusal to its customer and to operators, byte for byte', async () => {
    const mine = await addSupplier(service)
    const body = '{"Status":7, "ü":"\\ud800"}'
    await deliver(body, mine.key)
    const reader = await readerOf(mine.customer.email)
    const { RefusalID } = (await pageOf(reader)).Refusals[0] as Listed
    for (const who of [reader, operator]) {
      const answer = await who.get(`/Purchase/refusal/${RefusalID.toUpperCase()}/payload`)
      expect([
        answer.statusCode,
        answer.payload,
        answer.headers['content-type'],
        answer.headers['content-disposition'],
      ]).toEqual([200, body, 'application/octet-stream', 'attachment'])
    }
  })

  it('finds nothing by texts that nothing has', async () => {
    for (const query of ['code=%00', 'requestId=%ED%A0%80', 'orderId=%00', "code='%20OR%201=1%20--", 'code=%25'])
      expect(await walk(operator, query)).toEqual([])
  })

  it('refuses a cursor of other filters, of a customer, and of the address for suppliers', async () => {
    const mine = await addSupplier(service)
    for (let n = 0; n < 3; n++) await deliver('{"Status":7}', mine.key)
    const reader = await readerOf(mine.customer.email)
    const { NextCursor } = await pageOf(reader, 'limit=1')
    expect((await pageOf(reader, `limit=2&cursor=${NextCursor}`)).Refusals).toHaveLength(2)
    const wrong = [
      await reader.get(`/Purchase/refusals?code=INVALID_REQUEST&cursor=${NextCursor}`),
      await operator.get(`/Purchase/refusals?cursor=${NextCursor}`),
      await app.inject({ url: `/Supplier/refusals?cursor=${NextCursor}`, headers: { ApiKey: mine.key } }),
    ]
    for (const answer of wrong) expect(answer.json()).toEqual(failure('CURSOR_INVALID'))
  })

  it('agrees with a plain model for every filter, in pages without gaps or repeats while more is refused', async () => {
    const step = fc.record({
      who: fc.nat(2),
      kind: fc.constantFrom('status', 'json', 'unknown', 'missing'),
      order: fc.nat(1),
    })
    const query = fc.record(
      {
        customer: fc.nat(2),
        code: fc.constantFrom('INVALID_REQUEST', 'API_KEY_INVALID', 'API_KEY_MISSING', 'INVALID'),
        orderId: fc.nat(1),
        request: fc.nat(12),
        from: fc.nat(12),
        to: fc.nat(12),
        limit: fc.constantFrom(1, 2, 5, 100),
      },
      { requiredKeys: ['limit'] },
    )
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 12 }),
        fc.array(query, { minLength: 6, maxLength: 6 }),
        async (steps, queries) => {
          clock.time += 3_600_000
          const begun = clock.now()
          const all = await Promise.all([0, 1, 2].map(() => addSupplier(service)))
          const readers = await Promise.all(all.map(({ customer }) => readerOf(customer.email)))
          const model: { who: number | null; code: string; order: string | undefined; request: string; at: number }[] =
            []
          for (const { who, kind, order } of steps) {
            const OrderID = `PO-${order}`
            const body = kind === 'json' ? '{' : JSON.stringify({ OrderID, Status: 9 })
            const key = kind === 'unknown' ? 'tsl_unknown' : kind === 'missing' ? undefined : all[who]?.key
            const { requestId, errorCode } = (await deliver(body, key)) as { requestId: string; errorCode: string }
            const isKnown = kind === 'status' || kind === 'json'
            model.unshift({
              who: isKnown ? who : null,
              code: errorCode,
              order: kind === 'status' ? OrderID : undefined,
              request: requestId,
              at: clock.now(),
            })
          }
          const last = new Date(clock.now() + 1).toISOString()
          const whole: typeof queries = [{ limit: 2 }, { limit: 2, customer: 0 }]
          for (const { customer, code, orderId, request, from = 0, to, limit } of [...whole, ...queries]) {
            const [start, end] = [begun + from * 60_000, to === undefined ? clock.now() + 1 : begun + to * 60_000]
            const requestId = request === undefined ? undefined : (model[request]?.request ?? 'none')
            const expected = model.filter(
              (each) =>
                (customer === undefined || each.who === customer) &&
                (code === undefined || each.code === code) &&
                (orderId === undefined || each.order === `PO-${orderId}`) &&
                (requestId === undefined || each.request === requestId) &&
                each.at >= start &&
                each.at < Math.min(end, Date.parse(last)),
            )
            const filters = {
              ...(code !== undefined && { code }),
              ...(orderId !== undefined && { orderId: `PO-${orderId}` }),
              ...(requestId !== undefined && { requestId }),
              from: new Date(start).toISOString(),
              to: to === undefined ? last : new Date(end).toISOString(),
              limit: String(limit),
            }
            const text = (more = {}) => new URLSearchParams({ ...filters, ...more }).toString()
            const whose = customer === undefined ? {} : { customer: all[customer]?.customer.id }
            const seen = await walk(operator, text(whose))
            expect(
              seen.map(({ RequestID, CustomerID }) => [RequestID, CustomerID]),
              text(whose),
            ).toEqual(expected.map(({ request, who }) => [request, who === null ? null : all[who]?.customer.id]))
            if (customer === undefined) continue
            const own = await walk(readers[customer] as Reader, text())
            expect(own.map(({ RequestID }) => RequestID)).toEqual(expected.map(({ request }) => request))
          }
        },
      ),
      { numRuns: 8 },
    )
  })
})
