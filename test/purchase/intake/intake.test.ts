import { createHash } from 'node:crypto'
import fc from 'fast-check'
import type { InjectOptions } from 'fastify'
import { describe, expect, it } from 'vitest'
import { makeApiKey } from '#src/customer/api-key.ts'
import { systemRandom } from '#src/lib/random.ts'
import { anyText } from '../../support/any-text.ts'
import { failure } from '../../support/app/failure.ts'
import { addSupplier } from '../../support/app/supplier.ts'
import { PASSWORD, type TestApp, testApp } from '../../support/app/test-app.ts'

/** Makes a customer with an API key, and a function that delivers with it. */
async function supplier(service: TestApp, authority = ['*'], lifetime?: number) {
  const made = await addSupplier(service, { authority }, lifetime)
  const { key } = made
  const deliver = (payload: string | Buffer | object | undefined, headers = {}, more: InjectOptions = {}) =>
    service.app.inject({
      method: 'POST',
      url: '/Purchase/update',
      headers: { ApiKey: key, ...headers },
      ...(payload !== undefined && {
        payload: typeof payload === 'string' || Buffer.isBuffer(payload) ? payload : JSON.stringify(payload),
      }),
      ...more,
    })
  return { ...made, deliver }
}

const service = await testApp({}, { withThreads: true })
const { store, clock, log } = service
const main = await supplier(service)
const { deliver } = main

/** Reads the deliveries of an order. */
const historyOf = (orderId: string, customerId = main.customer.id) => store.deliveries.history(customerId, orderId)
const text = (payload: Uint8Array | null | undefined): string => Buffer.from(payload ?? []).toString('utf8')

describe('a delivery', () => {
  it('is answered with a receipt, and is stored under it with its exact bytes', async () => {
    const body = '{ "OrderID":"PO-1",\t"Status":2.0, "n":12345678901234567890, "d":1, "d":2, "e":"\\u0041\\ud800" }\r\n'
    const answer = await deliver(body)
    expect(answer.statusCode).toBe(200)
    const { data, ...rest } = answer.json()
    expect(rest).toEqual({ success: true, message: 'OK' })
    expect(data).toEqual({
      ReceiptID: expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/),
      Status: 2,
      OrderID: 'PO-1',
      Duplicate: false,
      ReceivedAt: new Date(clock.now()).toISOString(),
    })
    const stored = await store.deliveries.findByReceipt(data.ReceiptID)
    expect(text(stored?.payload)).toBe(body)
    expect(stored).toMatchObject({ customerId: main.customer.id, orderId: 'PO-1', status: 2, duplicate: false })
    expect(await store.deliveries.orderState(main.customer.id, 'PO-1')).toEqual({
      orderId: 'PO-1',
      status: 2,
      receiptId: data.ReceiptID,
      receivedAt: clock.now(),
    })
  })

  it.each([
    ['application/x-www-form-urlencoded'],
    ['text/plain; charset=latin1'],
    ['multipart/form-data; boundary=x'],
    ['nonsense;;='],
    [''],
    [undefined],
  ])('is accepted with Content-Type %j', async (type) => {
    const answer = await deliver('{"Status":1}', type === undefined ? {} : { 'content-type': type })
    expect(answer.json()).toMatchObject({ success: true, data: { Status: 1 } })
  })

  it('is accepted with path, header and Status in any letter case', async () => {
    const answer = await deliver('\ufeff{"sTATUS":3}', {}, { url: '/PURCHASE/Update/' })
    expect(answer.json()).toMatchObject({ success: true, data: { Status: 3 } })
    const { payload } = (await store.deliveries.findByReceipt(answer.json().data.ReceiptID)) ?? {}
    expect(text(payload)).toBe('\ufeff{"sTATUS":3}')
  })

  it('is logged with its customer, without API key and payload', async () => {
    log.length = 0
    await deliver({ Status: 1, OrderID: 'secret-order', Note: 'secret note' })
    expect(log).toMatchObject([
      { route: '/Purchase/update', status: 200, customerId: main.customer.id, errorCode: null },
    ])
    expect(JSON.stringify(log)).not.toMatch(/tsl_|secret/)
  })

  it('is stored byte for byte, whatever else the object holds', async () => {
    const rest = fc
      .dictionary(
        anyText().filter((key) => key.toLowerCase() !== 'status' && key !== '__proto__'),
        fc.jsonValue({ depthSize: 'medium' }),
        { noNullPrototype: true },
      )
      .filter((fields) => !/"(?:__proto__|prototype)":/.test(JSON.stringify(fields)))
    const spelling = fc.constantFrom(undefined, 2, '\t')
    await fc.assert(
      fc.asyncProperty(
        rest,
        fc.integer({ min: 0, max: 3 }),
        fc.nat(3),
        spelling,
        async (fields, status, at, indent) => {
          const members = Object.entries(fields)
          members.splice(at, 0, ['Status', status])
          const body = JSON.stringify(Object.fromEntries(members), undefined, indent)
          const answer = await deliver(body)
          expect([answer.statusCode, answer.payload]).toEqual([200, expect.any(String)])
          const stored = await store.deliveries.findByReceipt(answer.json().data.ReceiptID)
          expect(text(stored?.payload)).toBe(body)
          expect(stored?.status).toBe(status)
        },
      ),
      { numRuns: 300 },
    )
  })
})

describe('a body that is not an object with a Status', () => {
  const lastPosition = async (): Promise<number> => {
    const { data } = (await deliver({ Status: 1 })).json()
    return (await store.deliveries.findByReceipt(data.ReceiptID))?.position ?? 0
  }

  it('is a 400 and stores nothing, whatever it is', async () => {
    const before = await lastPosition()
    const wrong = fc
      .oneof(
        fc.jsonValue(),
        fc.record({ Status: fc.oneof(fc.integer({ min: 4 }), fc.integer({ max: -1 }), fc.string(), fc.jsonValue()) }),
      )
      .filter((value) => {
        const { Status } = (value ?? {}) as { Status?: unknown }
        return Array.isArray(value) || ![0, 1, 2, 3].includes(Status as number)
      })
    await fc.assert(
      fc.asyncProperty(wrong, async (value) => {
        const answer = await deliver(JSON.stringify(value))
        expect([answer.statusCode, answer.json().success]).toEqual([400, false])
      }),
    )
    expect(await lastPosition()).toBe(before + 1)
  })

  it.each([
    ['"1"'],
    ['[1]'],
    ['true'],
    ['""'],
    ['null'],
    ['{}'],
    ['4'],
    ['4.0'],
    ['40e-1'],
    ['-1'],
    ['1.5'],
    ['3.0000000000000000001'],
  ])('(Status %s) names the field and what it must be', async (token) => {
    const answer = await deliver(`{"Status":${token}}`)
    expect(answer.statusCode).toBe(400)
    const errors = [{ path: '/Status', message: 'must be a whole number from 0 to 3' }]
    expect(answer.json()).toEqual(failure('INVALID_REQUEST', { errors }))
  })

  it.each([
    ['{"OrderID":"x"}', [{ path: '/Status', message: 'is required' }]],
    ['{"Status":1,"status":1}', [{ path: '/Status', message: 'is sent more than once' }]],
    ['{"Status":1,"Status":1}', [{ path: '/Status', message: 'is sent more than once' }]],
    ['[{"Status":1}]', [{ path: '', message: 'must be a JSON object' }]],
    ['1', [{ path: '', message: 'must be a JSON object' }]],
    [`{"Status":1,"OrderID":"${'x'.repeat(201)}"}`, [{ path: '/OrderID', message: 'is longer than 200 characters' }]],
  ])('%j is a 400', async (body, errors) => {
    expect((await deliver(body)).json()).toEqual(failure('INVALID_REQUEST', { errors }))
  })

  it.each([
    ['Status=1', 'BODY_NOT_JSON'],
    ['{"Status":1', 'BODY_NOT_JSON'],
    ['{"Status":01}', 'BODY_NOT_JSON'],
    ['{"Status":1,}', 'BODY_NOT_JSON'],
    ['{"Status":1}{"Status":2}', 'BODY_NOT_JSON'],
    [Buffer.from('{"Status":1,"a":"\xff"}', 'latin1'), 'BODY_NOT_UTF8'],
    [`{"Status":1,"a":${'['.repeat(64)}${']'.repeat(64)}}`, 'BODY_TOO_DEEP'],
    ['{"Status":1,"__proto__":1}', 'FORBIDDEN_KEY'],
    ['', 'BODY_MISSING'],
    [undefined, 'BODY_MISSING'],
  ])('%j is a 400', async (body, errorCode) => {
    const answer = await deliver(body)
    expect([answer.statusCode, answer.json()]).toEqual([400, failure(errorCode)])
  })

  it('a key that could change prototypes is found however it is spelled, and others may be spelled the same way', async () => {
    const spelled = (name: string, escaped: readonly boolean[]): string =>
      Array.from(name, (character, index) =>
        escaped[index] ? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}` : character,
      ).join('')
    const some = fc.array(fc.boolean(), { minLength: 16, maxLength: 16 })
    await fc.assert(
      fc.asyncProperty(fc.constantFrom('__proto__', 'constructor'), some, some, async (name, escaped, others) => {
        const body = (key: string) =>
          `{"Status":1,"a":"\\"\\u00e7\\"","b":[{"${key}":{"${spelled('prototype', others)}":1}}]}`
        expect((await deliver(body(spelled(name, escaped)))).json()).toEqual(failure('FORBIDDEN_KEY'))
        expect((await deliver(body(spelled(`x${name}`, escaped)))).statusCode).toBe(200)
      }),
      { numRuns: 50 },
    )
  })

  it('TESLIM_FIELD_CASE=exact takes only Status', async () => {
    const exact = await supplier(await testApp({ TESLIM_FIELD_CASE: 'exact' }))
    expect((await exact.deliver('{"status":1,"Status":2,"orderid":"a"}')).json()).toMatchObject({
      data: { Status: 2, OrderID: 'a' },
    })
    expect((await exact.deliver('{"status":1}')).statusCode).toBe(400)
  })
})

describe('the order id', () => {
  it.each([
    ['{"Status":1,"PurchaseOrderID":"A"}', 'A'],
    ['{"Status":1,"OrderID":"low","PURCHASEID":"high"}', 'high'],
    ['{"Status":1,"ordernumber":12345678901234567890}', '12345678901234567890'],
    ['{"Status":1,"OrderNumber":1.50e1}', '1.50e1'],
    ['{"Status":1,"OrderID":"\\u00e7ay \\"1\\""}', 'çay "1"'],
    ['{"Status":1,"OrderID":"first","orderId":"last"}', 'last'],
    ['{"Status":1,"OrderID":"nul \\u0000"}', 'nul \\u0000'],
    ['{"Status":1,"OrderID":"lone \\ud800"}', 'lone \\ud800'],
    ['{"Status":1,"OrderID":""}', undefined],
    ['{"Status":1,"OrderID":null,"Order":{"OrderID":"deep"}}', undefined],
    ['{"Status":1,"OrderID":{"a":1}}', undefined],
    ['{"Status":1}', undefined],
  ])('of %s is %j', async (body, orderId) => {
    const { data } = (await deliver(body)).json()
    expect(data.OrderID).toBe(orderId)
    if (orderId !== undefined) expect(await historyOf(orderId)).toHaveLength(1)
  })

  it('is found where TESLIM_ORDER_ID_POINTERS says', async () => {
    const other = await supplier(await testApp({ TESLIM_ORDER_ID_POINTERS: '/Header/Lines/*/No, /X' }))
    const { data } = (await other.deliver('{"Status":1,"OrderID":"a","X":"x","header":{"lines":[{},{"no":7}]}}')).json()
    expect(data.OrderID).toBe('7')
  })

  it('is required by TESLIM_ORDER_ID=required: without one nothing is stored', async () => {
    const strict = await testApp({ TESLIM_ORDER_ID: 'required' })
    const one = await supplier(strict)
    const answer = await one.deliver({ OrderNo: 'S9', Status: 1 })
    expect([answer.statusCode, answer.json()]).toEqual([
      400,
      failure('INVALID_REQUEST', {
        message: `The request is not valid: the body ${NO_ORDER}; /OrderNo ${MISSPELLED}.`,
        errors: [
          { path: '', message: NO_ORDER },
          { path: '/OrderNo', message: MISSPELLED },
        ],
      }),
    ])
    const { data } = (await one.deliver({ OrderID: 'S9', Status: 1 })).json()
    expect((await strict.store.deliveries.findByReceipt(data.ReceiptID))?.position).toBe(1)
  })
})

const NO_ORDER = 'holds no order id at /PurchaseOrderID, /PurchaseID, /OrderNumber, /OrderID'
const MISSPELLED = 'was ignored: it looks like a misspelled /OrderID'

describe('a receipt', () => {
  const warningsOf = async (body: object, headers = {}) => (await deliver(body, headers)).json().data.Warnings

  it('warns of an order id that was not found, and of the field that was probably meant', async () => {
    expect(await warningsOf({ Status: 1 })).toEqual([`The body ${NO_ORDER}.`])
    expect(await warningsOf({ OrderNo: 'S9', Status: 1 })).toEqual([`The body ${NO_ORDER}.`, `/OrderNo ${MISSPELLED}.`])
  })

  it('has the same warnings for a retry', async () => {
    const body = { OrderNo: 'S9', Status: 1 }
    const headers = { 'Idempotency-Key': 'warned' }
    const first = (await deliver(body, headers)).json().data
    expect((await deliver(body, headers)).json().data).toEqual({ ...first, Duplicate: true })
    expect(first.Warnings).toHaveLength(2)
  })

  it('has no warnings if everything was found', async () => {
    const body = { OrderID: 'all', Status: 1, Products: [{ Sku: 'A', Quantity: 1 }], Currency: 'TRY' }
    expect((await deliver(body)).json().data).not.toHaveProperty('Warnings')
  })
})

describe('the state of an order', () => {
  it('does not change with an echo, which is stored and answered with the first receipt', async () => {
    const first = (await deliver({ OrderID: 'echo', Status: 1 })).json().data
    clock.time += 1000
    for (let i = 0; i < 3; i++) {
      const echo = (await deliver({ OrderID: 'echo', Status: 1 })).json().data
      expect(echo).toEqual({ ...first, Duplicate: true })
    }
    const history = await historyOf('echo')
    expect(history.map(({ duplicate }) => duplicate)).toEqual([true, true, true, false])
    expect(new Set(history.map(({ receiptId }) => receiptId)).size).toBe(4)
    expect((await store.deliveries.orderState(main.customer.id, 'echo'))?.receiptId).toBe(first.ReceiptID)
  })

  it('of one customer is not seen or changed by another with the same order id', async () => {
    const other = await supplier(service)
    const mine = (await deliver({ OrderID: 'shared', Status: 1 })).json().data
    const theirs = (await other.deliver({ OrderID: 'shared', Status: 1 })).json().data
    expect(theirs).toMatchObject({ Duplicate: false })
    await other.deliver({ OrderID: 'shared', Status: 0 })
    expect(await historyOf('shared')).toHaveLength(1)
    expect(await store.deliveries.orderState(main.customer.id, 'shared')).toMatchObject({
      status: 1,
      receiptId: mine.ReceiptID,
    })
    expect(await historyOf('shared', other.customer.id)).toHaveLength(2)
  })
})

describe('an Idempotency-Key', () => {
  const under = (key: string) => ({ 'Idempotency-Key': key })

  it('sent 50 times at once yields one delivery and 50 equal receipts', async () => {
    const body = { OrderID: 'fifty', Status: 1 }
    const answers = await Promise.all(Array.from({ length: 50 }, () => deliver(body, under('k-50'))))
    const receipts = answers.map((answer) => answer.json().data)
    const { Duplicate: _, ...receipt } = receipts[0]
    for (const one of receipts) expect(one).toEqual({ ...receipt, Duplicate: expect.any(Boolean) })
    expect(receipts.filter(({ Duplicate }) => !Duplicate)).toHaveLength(1)
    expect(await historyOf('fifty')).toHaveLength(1)
  })

  it('with other bytes is a 422 and stores nothing', async () => {
    await deliver({ OrderID: 'reuse', Status: 1 }, under('k-reuse'))
    const answer = await deliver({ OrderID: 'reuse', Status: 2 }, under('k-reuse'))
    expect([answer.statusCode, answer.json()]).toEqual([422, failure('IDEMPOTENCY_KEY_REUSED')])
    expect(await historyOf('reuse')).toHaveLength(1)
  })

  it('is forgotten after TESLIM_IDEMPOTENCY_DAYS', async () => {
    await deliver({ OrderID: 'week', Status: 1 }, under('k-week'))
    clock.time += 7 * 86_400_000
    expect((await deliver({ OrderID: 'week', Status: 2 }, under('k-week'))).statusCode).toBe(422)
    clock.time += 1
    expect((await deliver({ OrderID: 'week', Status: 2 }, under('k-week'))).json().data.Duplicate).toBe(false)
    expect((await deliver({ OrderID: 'week', Status: 2 }, under('k-week'))).json().data.Duplicate).toBe(true)
  })

  it.each(['', ' ', 'a b', 'ü', 'x'.repeat(256)])('%j is a 400', async (key) => {
    const answer = await deliver({ Status: 1 }, under(key))
    expect(answer.json()).toMatchObject({ errorCode: 'INVALID_REQUEST', errors: [{ path: 'headers/idempotency-key' }] })
  })
})

describe('authority', () => {
  const NO_PRODUCT =
    'The delivery names no product at /ProductID, /ProductCode, /Products/*/ProductID, /Products/*/ProductCode, /Products/*/Sku; a delivery without a product needs an API key with the rule *.'
  const products = (...skus: unknown[]) => ({ Status: 1, Products: skus.map((Sku) => ({ Sku })) })

  it.each([
    [['SKU-*'], products('SKU-1', 'SKU-2')],
    [['SKU-1', '42'], { ...products('SKU-1', 42), ProductID: 42 }],
    [['*'], { Status: 1 }],
    [['*'], products('anything')],
  ])('%j covers %j', async (authority, body) => {
    const one = await supplier(service, authority)
    expect((await one.deliver(body)).statusCode).toBe(200)
  })

  it.each([
    [[], products('A'), ['A']],
    [['A'], products('A', 'B', 'C', 'B'), ['B', 'C']],
    [['A-*'], products('A', 'a-1', 'A-1'), ['A', 'a-1']],
    [['A'], { Status: 1, productid: 'A', PRODUCTCODE: 'X' }, ['X']],
    [['1'], { Status: 1, ProductID: 10 }, ['10']],
    [['A'], '{"Status":1,"ProductID":"B","ProductID":"A"}', ['B']],
    [['A'], '{"Status":1,"Product\\u0049D":"B"}', ['B']],
  ])('%j does not cover %j: 403 names what is not covered', async (authority, body, refused) => {
    const one = await supplier(service, authority)
    log.length = 0
    const answer = await one.deliver(body)
    expect(answer.statusCode).toBe(403)
    expect(answer.json()).toEqual(
      failure('PRODUCT_NOT_AUTHORIZED', {
        message: `This API key may not deliver: ${refused.join(', ')}.`,
        errors: refused.map((product) => ({ path: '', message: `product ${product} is not allowed` })),
      }),
    )
    expect(log).toMatchObject([{ status: 403, errorCode: 'PRODUCT_NOT_AUTHORIZED', customerId: one.customer.id }])
  })

  it('of many products that are not covered the 403 names a hundred, and says how many there are', async () => {
    const one = await supplier(service, ['A'])
    const codes = Array.from({ length: 150 }, (_, index) => `B-${index}`)
    const { message, errors } = (await one.deliver(products(...codes))).json()
    expect(message).toBe(`This API key may not deliver: ${codes.slice(0, 100).join(', ')}, and 50 more.`)
    expect(errors).toHaveLength(100)
  })

  it.each([[{ Status: 1 }], [{ Status: 1, Products: [] }], [products('')], [products(null, {})]])(
    'of less than * does not cover %j, which names no product: the 403 says where teslim looked',
    async (body) => {
      const one = await supplier(service, ['SKU-*'])
      const answer = await one.deliver(body)
      expect([answer.statusCode, answer.json()]).toEqual([
        403,
        failure('PRODUCT_NOT_AUTHORIZED', { message: NO_PRODUCT }),
      ])
    },
  )

  it('of less than * does not cover a body that misspells its product: the 403 names the field', async () => {
    const one = await supplier(service, ['SKU-*'])
    const answer = await one.deliver({ Status: 1, Prodcts: [{ Sku: 'SKU-1' }] })
    const errors = [{ path: '/Prodcts', message: 'was ignored: it looks like a misspelled /Products' }]
    expect(answer.json()).toEqual(failure('PRODUCT_NOT_AUTHORIZED', { message: NO_PRODUCT, errors }))
  })

  it('that is refused leaves no history', async () => {
    const one = await supplier(service, ['A'])
    await one.deliver({ ...products('B'), OrderID: 'refused' })
    expect(await historyOf('refused', one.customer.id)).toEqual([])
  })

  it('changes within a second', async () => {
    const one = await supplier(service, ['A'])
    expect((await one.deliver(products('B'))).statusCode).toBe(403)
    await service.customers.allow(one.customer.id, ['B'])
    clock.time += 999
    expect((await one.deliver(products('B'))).statusCode).toBe(200)
  })
})

describe('an ApiKey', () => {
  const refused = async (key: string | undefined, errorCode: string) => {
    const headers: Record<string, string> = key === undefined ? {} : { ApiKey: key }
    const answer = await service.app.inject({ method: 'POST', url: '/Purchase/update', headers, payload: 'not read' })
    expect([answer.statusCode, answer.json()]).toEqual([401, failure(errorCode)])
    expect(answer.headers['www-authenticate']).toBe('ApiKey realm="teslim"')
    const { requestId: _, ...body } = answer.json()
    return body
  }

  it('that is missing is a 401 of its own, before the body is looked at', async () => {
    await refused(undefined, 'API_KEY_MISSING')
  })

  it('that is unknown, mistyped, doubled, expired, revoked, or of a disabled customer is the same 401', async () => {
    const expired = await supplier(service, ['*'], 1000)
    const revoked = await supplier(service)
    const disabled = await supplier(service)
    for (const one of [expired, revoked, disabled]) expect((await one.deliver({ Status: 1 })).statusCode).toBe(200)
    clock.time += 1000
    await revoked.apiKeys.revoke(revoked.keyId)
    await service.customers.disable(disabled.customer.id)
    const keys = [
      makeApiKey(systemRandom),
      `${main.key.slice(0, -1)}${main.key.endsWith('a') ? 'b' : 'a'}`,
      `${main.key}, ${main.key}`,
      main.key.toLowerCase(),
      ` ${main.key.slice(4)}`,
      'x',
      '',
      expired.key,
      revoked.key,
      disabled.key,
    ]
    const bodies = []
    for (const key of keys) bodies.push(await refused(key, 'API_KEY_INVALID'))
    expect(new Set(bodies.map((body) => JSON.stringify(body))).size).toBe(1)
  })

  it('in the address is ignored', async () => {
    const url = `/Purchase/update?ApiKey=${main.key}`
    expect((await service.app.inject({ method: 'POST', url, payload: '{"Status":1}' })).statusCode).toBe(401)
  })

  it('works beside other live keys of the customer', async () => {
    const { key } = await main.apiKeys.issue(main.customer.id, 'second')
    const { view } = await main.apiKeys.issue(main.customer.id, 'third')
    await main.apiKeys.revoke(view.id)
    expect((await deliver({ Status: 1 }, { ApiKey: key })).statusCode).toBe(200)
    expect((await deliver({ Status: 1 })).statusCode).toBe(200)
  })

  it('that is mistyped is refused without a query', async () => {
    const { findByHash } = store.apiKeys
    let lookUps = 0
    const counting = (hash: Uint8Array) => {
      lookUps++
      return findByHash(hash)
    }
    Object.assign(store.apiKeys, { findByHash: counting })
    await refused(`${main.key.slice(0, 10)}${main.key[10] === 'x' ? 'y' : 'x'}${main.key.slice(11)}`, 'API_KEY_INVALID')
    expect(lookUps).toBe(0)
    await refused(makeApiKey(systemRandom), 'API_KEY_INVALID')
    expect(lookUps).toBe(1)
    Object.assign(store.apiKeys, { findByHash })
  })

  it('is stored as its SHA-256 only, and its last use is written down', async () => {
    const one = await supplier(service)
    await one.deliver({ Status: 1 }, {}, { remoteAddress: '10.1.2.3' })
    await service.app.keyUses.flush()
    const [stored] = await store.apiKeys.list(one.customer.id)
    expect(Buffer.from(stored?.hash ?? [])).toEqual(createHash('sha256').update(one.key).digest())
    expect(stored?.lastUse).toEqual({ keyId: one.keyId, usedAt: clock.now(), address: '10.1.2.3' })
  })
})

describe('form data that was sent by mistake', () => {
  it.each([
    'Status=1&OrderID=PO-1',
    'status=2',
    'Products%5B0%5D%5BSku%5D=A&Status=1',
    'Products[0][Sku]=A&Status=1',
    'payload={"Status":1}',
    '--------------------------d74496d66958873e\r\nContent-Disposition: form-data; name="Status"\r\n\r\n1\r\n',
  ])('gets a message of its own: %j', async (body) => {
    const answer = await deliver(body, { 'content-type': 'application/x-www-form-urlencoded' })
    const message = 'The body looks like form data, not like JSON: send a JSON object, such as {"Status":1}.'
    expect([answer.statusCode, answer.json()]).toEqual([400, failure('BODY_NOT_JSON', { message })])
  })

  it.each(['{"Status"=1}', '"a"=1', 'Status: 1', '<Status>1</Status>', '{"Status":1'])(
    'is not confused with %j',
    async (body) => {
      const answer = await deliver(body)
      expect(answer.json()).toEqual(failure('BODY_NOT_JSON', { message: 'The body is not valid JSON.' }))
    },
  )
})

describe('a bearer token on a delivery', () => {
  const tokenOf = async (to: TestApp, email: string): Promise<string> =>
    (await to.login({ Email: email, Password: PASSWORD })).json().data.Token

  it('is optional, but must be valid and of the same customer when it is sent', async () => {
    const other = await supplier(service)
    const bearer = async (authorization: string) => {
      const answer = await deliver({ Status: 1 }, { authorization })
      return [answer.statusCode, answer.json().errorCode, answer.headers['www-authenticate']]
    }
    const invalid = 'Bearer realm="teslim", error="invalid_token"'
    expect(await bearer(`Bearer ${await tokenOf(service, main.customer.email)}`)).toEqual([200, undefined, undefined])
    expect(await bearer(`bearer ${await tokenOf(service, main.customer.email)}`)).toEqual([200, undefined, undefined])
    expect(await bearer(`Bearer ${await tokenOf(service, other.customer.email)}`)).toEqual([
      401,
      'TOKEN_FOREIGN',
      invalid,
    ])
    expect(await bearer('Bearer x.y.z')).toEqual([401, 'TOKEN_MALFORMED', invalid])
    expect(await bearer('Basic eDp5')).toEqual([401, 'TOKEN_MALFORMED', invalid])
    expect(await bearer('')).toEqual([401, 'TOKEN_MALFORMED', invalid])
  })

  it('that is stale beside a good ApiKey is a 401 that says how to go on, to a good ApiKey only', async () => {
    const hint = 'The API key alone is enough: leave the Authorization header out.'
    const stale = await testApp({ TESLIM_TOKEN_TTL: '60' })
    const one = await supplier(stale)
    const authorization = `Bearer ${await tokenOf(stale, one.customer.email)}`
    stale.clock.time += 61_000
    const answer = await one.deliver({ Status: 1 }, { authorization })
    const message = `The token has expired: log in again. ${hint}`
    expect([answer.statusCode, answer.json()]).toEqual([401, failure('TOKEN_EXPIRED', { message })])
    expect(answer.headers['www-authenticate']).toBe('Bearer realm="teslim", error="invalid_token"')
    expect(stale.log.at(-1)).toMatchObject({ reason: expect.stringContaining('TESLIM_PURCHASE_BEARER=ignored') })
    for (const sent of ['Basic eDp5', 'Bearer x']) {
      expect((await one.deliver({ Status: 1 }, { authorization: sent })).json().message).toContain(hint)
    }
    const wrongKey = await one.deliver({ Status: 1 }, { authorization, ApiKey: 'x' })
    expect(wrongKey.json()).toEqual(failure('API_KEY_INVALID', { message: 'The API key is not valid.' }))
    expect((await one.deliver({ Status: 1 })).statusCode).toBe(200)
  })

  it('does not count when it is in the address', async () => {
    const strict = await testApp({ TESLIM_PURCHASE_BEARER: 'required' })
    const one = await supplier(strict)
    const url = `/Purchase/update?access_token=${await tokenOf(strict, one.customer.email)}`
    const answer = await one.deliver({ Status: 1 }, {}, { url })
    expect([answer.statusCode, answer.json()]).toEqual([401, failure('TOKEN_MISSING')])
  })

  it('is required or ignored when TESLIM_PURCHASE_BEARER says so', async () => {
    const strict = await testApp({ TESLIM_PURCHASE_BEARER: 'required' })
    const one = await supplier(strict)
    const answer = await one.deliver({ Status: 1 })
    expect([answer.statusCode, answer.json().errorCode]).toEqual([401, 'TOKEN_MISSING'])
    expect(answer.headers['www-authenticate']).toBe('Bearer realm="teslim"')
    expect(answer.json().message).not.toContain('leave the Authorization header out')
    const authorization = `Bearer ${await tokenOf(strict, one.customer.email)}`
    expect((await one.deliver({ Status: 1 }, { authorization })).statusCode).toBe(200)
    const lax = await supplier(await testApp({ TESLIM_PURCHASE_BEARER: 'ignored' }))
    expect((await lax.deliver({ Status: 1 }, { authorization: 'Bearer x' })).statusCode).toBe(200)
  })
})

describe('more deliveries than can be stored', () => {
  it('the rest is a 503 with Retry-After, and nothing of it is kept', async () => {
    const small = await testApp({}, { queueDeliveries: 5, withThreads: true })
    const one = await supplier(small)
    await one.deliver({ Status: 1 })
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, number) => one.deliver({ Status: 1, OrderID: `many-${number}` })),
    )
    const [taken, turnedAway] = [
      answers.filter((a) => a.statusCode === 200),
      answers.filter((a) => a.statusCode === 503),
    ]
    expect(taken.length + turnedAway.length).toBe(40)
    expect(turnedAway.length).toBeGreaterThan(0)
    for (const answer of turnedAway) {
      expect([answer.headers['retry-after'], answer.json()]).toEqual(['1', failure('STORE_OVERLOADED')])
    }
    const kept = await Promise.all(
      answers.map((_, number) => small.store.deliveries.orderState(one.customer.id, `many-${number}`)),
    )
    expect(kept.map((state) => state !== undefined)).toEqual(answers.map((answer) => answer.statusCode === 200))
    expect((await one.deliver({ Status: 1 })).statusCode).toBe(200)
  })
})
