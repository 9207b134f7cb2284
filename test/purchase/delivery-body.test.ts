import { Ajv } from 'ajv'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { loadConfig, type Variables } from '#src/config/load-config.ts'
import { AppError } from '#src/lib/app-error.ts'
import { createDeliveryReader } from '#src/purchase/delivery-body.ts'
import { PurchaseBodySchema } from '#src/purchase/intake/intake.schema.ts'

const parseWith = (settings: Variables = {}) => {
  const { parse } = createDeliveryReader(loadConfig(settings).config)
  return (body: unknown) => parse(Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)))
}
const parse = parseWith()

/** Returns the warnings as pairs: a path, and what the field was probably meant to be. */
const warningsOf = (body: unknown, read = parse) =>
  read(body).warnings.map(({ path, message }) => [path, message.replace(/^.*misspelled /, '')])

function isAccepted(read: (text: string) => unknown, text: string): boolean {
  try {
    return read(text) !== undefined
  } catch (error) {
    if (error instanceof AppError) return false
    throw error
  }
}

const NO_ORDER = ['', 'holds no order id at /PurchaseOrderID, /PurchaseID, /OrderNumber, /OrderID']

it('accepts exactly the JSON that the schema of the contract accepts', () => {
  const accepts = new Ajv({ allErrors: true }).compile(PurchaseBodySchema)
  const exact = parseWith({ TESLIM_FIELD_CASE: 'exact' })
  const status = fc.oneof(
    fc.integer({ min: -2, max: 6 }),
    fc.double(),
    fc.jsonValue({ maxDepth: 1 }),
    fc.constantFrom('1', true, null, 2.5, 1e21, -0, [1], { Status: 1 }),
  )
  const rest = fc.dictionary(fc.string({ maxLength: 8 }), fc.jsonValue({ maxDepth: 2 }), { noNullPrototype: true })
  const body = fc.oneof(
    fc.jsonValue(),
    rest,
    fc.tuple(rest, status).map(([fields, Status]) => ({ ...fields, Status })),
    fc.tuple(rest, status).map(([fields, Status]) => ({ Status, ...fields })),
  )
  fc.assert(
    fc.property(body, fc.constantFrom(undefined, 1, '\t', '\n\r'), (value, indent) => {
      const text = JSON.stringify(value, undefined, indent)
      // Names that are refused everywhere.
      fc.pre(!/__proto__|"constructor"/.test(text))
      expect({ text, accepted: isAccepted(exact, text) }).toEqual({ text, accepted: accepts(JSON.parse(text)) })
    }),
    { numRuns: 3000 },
  )
})

describe('a warning', () => {
  it.each([
    ['OrderNo', '/OrderID'],
    ['Order_Id', '/OrderID'],
    ['order-id', '/OrderID'],
    ['ORDER ID', '/OrderID'],
    ['OrdreID', '/OrderID'],
    ['OderNumber', '/OrderNumber'],
    ['PurchaseOrderNo', '/PurchaseOrderID'],
    ['purchase_order_id', '/PurchaseOrderID'],
    ['PurchaseIDs', '/PurchaseID'],
  ])('says that %s was probably meant to be %s', (field, meant) => {
    expect(warningsOf({ [field]: 'S9', Status: 1, ProductID: 'A' })).toEqual([NO_ORDER, [`/${field}`, meant]])
  })

  it.each([
    [{ Prodcts: [{ Sku: 'A' }] }, '/Prodcts', '/Products'],
    [{ product_code: 'A' }, '/product_code', '/ProductCode'],
    [{ Products: [{ Skuu: 'A' }] }, '/Products/*/Skuu', '/Products/*/Sku'],
    [{ Products: [{ Sku: 'A' }, { 'product-id': 'B' }] }, '/Products/*/product-id', '/Products/*/ProductID'],
    [{ Products: [{ SKUs: 'A' }, { Sku: 'B' }] }, '/Products/*/SKUs', '/Products/*/Sku'],
    [{ ProductID: 'A', Products: [{ ProdutCode: 'B' }] }, '/Products/*/ProdutCode', '/Products/*/ProductCode'],
  ])('says of %j that %s was probably meant to be %s', (body, path, meant) => {
    expect(warningsOf({ OrderID: 'S9', Status: 1, ...body })).toEqual([[path, meant]])
  })

  it.each([
    [{ Status: 1 }],
    [{ Status: 1, OrderID: '', Order: { OrderID: 'deep', OrderNo: 'deep' } }],
    [{ Status: 1, OrderDate: '2026-11-21', OrderTotal: 3, State: 'TR', Currency: 'TRY', Note: 'x' }],
  ])('of %j is only that there is no order id', (body) => {
    expect(warningsOf(body)).toEqual([NO_ORDER])
  })

  it('follows the pointers in the settings', () => {
    const settings = { TESLIM_ORDER_ID_POINTERS: '/OrderNo, /Order~1Head/No', TESLIM_PRODUCT_POINTERS: '/Lines/*/Item' }
    const read = parseWith(settings)
    expect(warningsOf({ orderno: 1, Status: 1, lines: [{ item: 'A' }] }, read)).toEqual([])
    expect(warningsOf({ 'Order/Haed': { No: 1 }, Status: 1, Lines: [{ Items: 'A' }] }, read)).toEqual([
      ['', 'holds no order id at /OrderNo, /Order~1Head/No'],
      ['/Order~1Haed', '/Order~1Head'],
      ['/Lines/*/Items', '/Lines/*/Item'],
    ])
  })

  it('is the same every time, and appears once for each field', () => {
    const body = { Status: 1, Products: [{ Skuu: 'A' }, { Skuu: 'B' }, { SKUU: 'C' }] }
    const first = warningsOf(body)
    expect(first).toEqual([NO_ORDER, ['/Products/*/Skuu', '/Products/*/Sku'], ['/Products/*/SKUU', '/Products/*/Sku']])
    expect(warningsOf(body)).toEqual(first)
  })

  it('appears at most ten times', () => {
    const many = Object.fromEntries(
      Array.from({ length: 5000 }, (_, n) => [`OrderI${String.fromCharCode(192 + n)}`, n]),
    )
    expect(warningsOf({ Status: 1, ...many })).toHaveLength(10)
  })

  it('is never given for a body whose fields are all spelled right, in any letter case', () => {
    const inAnyCase = (name: string) =>
      fc.mixedCase(fc.constant(name), {
        toggleCase: (letter) => (/[a-z]/.test(letter) ? letter.toUpperCase() : letter),
      })
    const id = fc.oneof(fc.string({ minLength: 1, maxLength: 20 }), fc.nat())
    const other = fc.dictionary(
      fc.oneof(
        fc.constantFrom('Currency', 'Supplier', 'Quantity', 'UnitPrice', 'Note', 'Date', 'OrderDate', 'Price', 'Name'),
        fc.string().filter((name) => !/[a-z]{2}/i.test(name)),
      ),
      fc.jsonValue({ maxDepth: 1 }),
    )
    const entry = fc
      .tuple(fc.constantFrom('ProductID', 'ProductCode', 'Sku').chain(inAnyCase), id, other)
      .map(([name, value, more]) => ({ [name]: value, ...more }))
    const orderField = fc.constantFrom('PurchaseOrderID', 'PurchaseID', 'OrderNumber', 'OrderID').chain(inAnyCase)
    const products = fc.oneof(
      fc.tuple(inAnyCase('Products'), fc.array(entry, { minLength: 1, maxLength: 4 })),
      fc.tuple(fc.constantFrom('ProductID', 'ProductCode').chain(inAnyCase), id),
    )
    const body = fc
      .tuple(orderField, id, products, other, fc.nat(3))
      .map(([order, orderId, [name, value], more, Status]) => ({ [order]: orderId, Status, [name]: value, ...more }))
    fc.assert(
      fc.property(body, (made) => {
        // Names that are refused everywhere.
        fc.pre(!/__proto__|"constructor"/.test(JSON.stringify(made)))
        expect([made, warningsOf(made)]).toEqual([made, []])
      }),
    )
  })
})

describe('TESLIM_ORDER_ID=required', () => {
  const required = parseWith({ TESLIM_ORDER_ID: 'required' })
  const path = ''
  const message = 'holds no order id at /PurchaseOrderID, /PurchaseID, /OrderNumber, /OrderID'

  it.each([
    ['{"Status":1}', [{ path, message }]],
    [
      '{}',
      [
        { path: '/Status', message: 'is required' },
        { path, message },
      ],
    ],
    ['{"Status":1,"OrderID":null}', [{ path, message }]],
    [
      '{"Status":1,"OrderNo":1}',
      [
        { path, message },
        { path: '/OrderNo', message: 'was ignored: it looks like a misspelled /OrderID' },
      ],
    ],
  ])('refuses %s and says where it looked', (body, problems) => {
    expect(() => required(body)).toThrow(
      expect.objectContaining({ code: 'INVALID_REQUEST', details: expect.objectContaining({ problems }) }),
    )
  })

  it('accepts a body with an order id', () => {
    expect(required('{"Status":1,"OrderID":7}')).toMatchObject({ status: 1, orderId: '7' })
  })
})
