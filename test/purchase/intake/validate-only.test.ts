import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { addSupplier } from '../../support/app/supplier.ts'
import { type TestApp, testApp } from '../../support/app/test-app.ts'
import { storesOfRun } from '../../support/store/stores.ts'

const bodies = fc.oneof(
  fc.constantFrom(
    '',
    'x',
    '[]',
    'Status=1',
    '{"Status":1}',
    '{"Status":1,"__proto__":1}',
    '\ufeff{"Status":1,"Sku":"A"}',
  ),
  fc
    .record(
      {
        Status: fc.constantFrom(0, 1, 2, 3, 4, '1'),
        OrderID: fc.constantFrom('PO-1', 'PO-2', 7, ''),
        OrderNo: fc.constant('x'),
        ProductID: fc.constantFrom('A-1', 'B', 'x'.repeat(201)),
        Products: fc.array(fc.record({ Sku: fc.constantFrom('A-1', 'A-2', 'C') }), { maxLength: 3 }),
      },
      { requiredKeys: [] },
    )
    .map((body) => JSON.stringify(body)),
)
const idempotencyKeys = fc.option(fc.constantFrom('key-1', 'key-2', 'no key', ''), { nil: undefined })

describe.each(storesOfRun())('validateOnly=true on %s', async (_kind, emptyStore) => {
  const service = await testApp(await emptyStore())
  const all = await addSupplier(service)
  const some = await addSupplier(service, { authority: ['A-*'] })
  const send = ({ app }: TestApp, key: string, body: string, idempotencyKey: string | undefined, query = '') =>
    app.inject({
      method: 'POST',
      url: `/Purchase/update${query}`,
      headers: { ApiKey: key, ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }) },
      payload: body,
    })

  it('says what the delivery is then answered with, whatever body and state, and stores nothing', async () => {
    const { deliveries } = service.store
    const attempts = fc.array(fc.tuple(fc.constantFrom(all.key, some.key, 'tsl_unknown'), bodies, idempotencyKeys), {
      minLength: 1,
      maxLength: 8,
    })
    let accepted = 0
    let refused = 0
    await fc.assert(
      fc.asyncProperty(attempts, async (sent) => {
        for (const [key, body, idempotencyKey] of sent) {
          service.clock.time += 1
          const before = await deliveries.lastPosition()
          const validated = await send(service, key, body, idempotencyKey, '?validateOnly=true')
          expect(await deliveries.lastPosition()).toBe(before)
          const delivered = await send(service, key, body, idempotencyKey)
          expect(validated.statusCode).toBe(delivered.statusCode)
          const { requestId: _one, ...said } = validated.json()
          const { requestId: _other, ...was } = delivered.json()
          if (delivered.statusCode !== 200) {
            refused++
            expect(said).toEqual(was)
            continue
          }
          accepted++
          const { ValidateOnly, Products, ...agreed } = said.data
          const { ReceiptID, ReceivedAt: _, ...receipt } = was.data
          expect(ValidateOnly).toBe(true)
          expect(Products).toBeInstanceOf(Array)
          expect(agreed).toEqual(receipt)
          expect(await deliveries.findByReceipt(ReceiptID)).toBeDefined()
        }
      }),
      { numRuns: 40 },
    )
    expect(Math.min(accepted, refused)).toBeGreaterThan(0)
  })

  it('refuses any other value, and a delivery is not made by a slip', async () => {
    const body = '{"OrderID":"slip","Status":1}'
    const slips = ['=false', '=1', '=TRUE', '=', '', '=true&validateOnly=true', '=true&VALIDATEONLY=true', '=true%20']
    for (const slip of slips) {
      const { statusCode, ...answer } = await send(service, all.key, body, undefined, `?validateOnly${slip}`)
      expect([slip, statusCode, answer.json().errors]).toEqual([
        slip,
        400,
        [{ path: 'query/validateOnly', message: 'must be true, and sent once' }],
      ])
    }
    const named = await send(service, all.key, body, undefined, '?x=1&VALIDATEonly=true')
    expect(named.json().data).toEqual({
      ValidateOnly: true,
      Status: 1,
      OrderID: 'slip',
      Products: [],
      Duplicate: false,
    })
    expect(await service.store.deliveries.history(all.customer.id, 'slip')).toEqual([])
  })

  it('names each product once, and is not counted as a delivery', async () => {
    const body = '{"OrderID":"named","Status":1,"Products":[{"Sku":"A"},{"Sku":"B"},{"Sku":"A"}]}'
    const counts = async () => (await service.metrics.text('text')).match(/^teslim_deliveries_total.*/gm)
    const before = await counts()
    expect((await send(service, all.key, body, undefined, '?validateOnly=true')).json().data.Products).toEqual([
      'A',
      'B',
    ])
    expect(await counts()).toEqual(before)
  })
})

it('counts for the rate limit like a delivery, and is refused by it', async () => {
  const service = await testApp({ TESLIM_RATE_LIMIT: '2' })
  const { key } = await addSupplier(service)
  const validate = () =>
    service.app.inject({
      method: 'POST',
      url: '/Purchase/update?validateOnly=true',
      headers: { ApiKey: key },
      payload: '{"Status":1}',
    })
  expect((await validate()).headers['ratelimit-remaining']).toBe('1')
  expect((await validate()).statusCode).toBe(200)
  expect((await validate()).json().errorCode).toBe('RATE_LIMITED')
})
