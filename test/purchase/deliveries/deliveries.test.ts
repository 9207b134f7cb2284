import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { failure } from '../../support/app/failure.ts'
import { addSupplier, type ReadingSupplier, readingSupplier } from '../../support/app/supplier.ts'
import { type TestApp, testApp } from '../../support/app/test-app.ts'
import { storesOfRun } from '../../support/store/stores.ts'

interface Listed {
  readonly ReceiptID: string
  readonly CustomerID: string
  readonly Customer?: string
  readonly OrderID?: string
  readonly Status: number
  readonly Duplicate: boolean
  readonly KeyID?: string | null
  readonly KeyLabel?: string | null
  readonly Address?: string | null
}

interface Page {
  readonly Deliveries: readonly Listed[]
  readonly NextCursor: string | null
  readonly Scanned?: { readonly Positions: number; readonly Of: number }
}

const pageOf = async ({ get }: ReadingSupplier, query = ''): Promise<Page> => {
  const answer = await get(`/Purchase/deliveries?${query}`)
  expect(answer.statusCode, answer.payload).toBe(200)
  return answer.json().data
}

/** Reads all pages, and lets something come in after each. */
async function walk(who: ReadingSupplier, query: string, between: () => Promise<unknown> = async () => undefined) {
  const all: Listed[] = []
  for (let cursor = ''; ; ) {
    const { Deliveries, NextCursor } = await pageOf(who, `${query}${cursor && `&cursor=${cursor}`}`)
    all.push(...Deliveries)
    if (NextCursor === null) return all
    cursor = NextCursor
    await between()
  }
}

const receiptsOf = (all: readonly { ReceiptID: string }[]) => all.map(({ ReceiptID }) => ReceiptID)

describe.each(storesOfRun())('GET /Purchase/deliveries on %s', async (kind, emptyStore) => {
  const service: TestApp = await testApp({ TESLIM_TOKEN_TTL: '31536000', ...(await emptyStore()) })
  const { clock } = service
  const operator = await readingSupplier(service, { scope: 'operator', authority: [] })
  const readOnly = await readingSupplier(service, { scope: 'operator:read', authority: [] })

  it('shows a customer its own deliveries, newest first, and operators those of all', async () => {
    const [one, other] = [await readingSupplier(service), await readingSupplier(service)]
    const first = await one.deliver({ OrderID: 'PO-1', Status: 1 })
    const foreign = await other.deliver({ OrderID: 'PO-1', Status: 2 })
    const echo = await one.deliver({ OrderID: 'PO-1', Status: 1 })
    const bare = await one.deliver({ Status: 3 })
    const { Deliveries, NextCursor } = await pageOf(one)
    expect(NextCursor).toBeNull()
    const entry = (ReceiptID: unknown, Status: number, Duplicate: boolean, more = {}) => ({
      ReceiptID,
      CustomerID: one.customer.id,
      Status,
      Duplicate,
      ReceivedAt: first.ReceivedAt,
      ...more,
    })
    expect(Deliveries).toEqual([
      entry(bare.ReceiptID, 3, false),
      entry(expect.any(String), 1, true, { OrderID: 'PO-1' }),
      entry(first.ReceiptID, 1, false, { OrderID: 'PO-1' }),
    ])
    // The answer to an echo has the first receipt, the list has its own.
    expect(echo.ReceiptID).toBe(first.ReceiptID)
    const own = Deliveries[1]?.ReceiptID
    const forOperators = { KeyID: one.keyId, KeyLabel: 'test', Address: '127.0.0.1', Customer: one.customer.email }
    for (const who of [operator, readOnly]) {
      const all = receiptsOf((await pageOf(who, 'limit=4')).Deliveries)
      expect(all).toEqual([bare.ReceiptID, own, foreign.ReceiptID, first.ReceiptID])
      for (const customer of [one.customer.id, one.customer.email.toUpperCase()])
        expect((await pageOf(who, `customer=${customer}`)).Deliveries).toEqual(
          Deliveries.map((each) => ({ ...each, ...forOperators })),
        )
    }
    expect((await pageOf(one, `customer=${one.customer.id}`)).Deliveries).toEqual(Deliveries)
  })

  it("refuses a cursor with other filters, of another customer, and of the suppliers' address", async () => {
    const [one, other] = [await readingSupplier(service), await readingSupplier(service)]
    for (let n = 0; n < 3; n++) await one.deliver({ OrderID: 'PO-1', Status: 1, n })
    const { NextCursor } = await pageOf(one, 'limit=1')
    expect((await pageOf(one, `limit=2&cursor=${NextCursor}`)).Deliveries).toHaveLength(2)
    const filters = ['status=1&', 'orderId=PO-1&', 'duplicate=false&', 'duplicate=true&', 'address=127.0.0.1&']
    for (const query of [...filters, `key=${one.keyId}&`])
      expect((await one.get(`/Purchase/deliveries?${query}cursor=${NextCursor}`)).json()).toEqual(
        failure('CURSOR_INVALID'),
      )
    expect((await other.get(`/Purchase/deliveries?cursor=${NextCursor}`)).json()).toEqual(failure('CURSOR_INVALID'))
    expect((await operator.get(`/Purchase/deliveries?cursor=${NextCursor}`)).json()).toEqual(failure('CURSOR_INVALID'))
    const named = await operator.get(`/Purchase/deliveries?customer=${one.customer.id}&cursor=${NextCursor}`)
    expect(named.statusCode).toBe(200)
  })

  it('says to operators only how far it looked for an API key or an address, and knows no key of others', async () => {
    const [one, other] = [await readingSupplier(service), await readingSupplier(service)]
    const second = await one.apiKeys.issue(one.customer.id, 'leaked')
    const from = async (key: string, remoteAddress: string, n: number): Promise<string> => {
      const payload = { OrderID: `PO-${n}`, Status: 1, from: remoteAddress }
      const headers = { ApiKey: key }
      const answer = await service.app.inject({
        method: 'POST',
        url: '/Purchase/update',
        headers,
        payload,
        remoteAddress,
      })
      return answer.json().data.ReceiptID
    }
    await from(one.key, '203.0.113.7', 1)
    const leaked = await from(second.key, '203.0.113.77', 1)
    const six = await from(second.key, '2001:db8:1::7', 2)
    const foreign = await from(other.key, '203.0.113.7', 1)
    const found = async (who: ReadingSupplier, query: string) => receiptsOf((await pageOf(who, query)).Deliveries)
    const keyId = second.view.id
    const { Deliveries, Scanned } = await pageOf(operator, `key=${keyId}&limit=1`)
    expect(Deliveries[0]).toMatchObject({ KeyID: keyId, KeyLabel: 'leaked', Address: '2001:db8:1::7' })
    expect(Scanned).toEqual({ Positions: 1, Of: expect.any(Number) })
    const end = await pageOf(operator, `key=${keyId}`)
    expect(end.Scanned?.Positions).toBe(end.Scanned?.Of)
    // A customer finds its own, and sees no more of them than before.
    expect(await found(one, `key=${keyId}`)).toEqual([six, leaked])
    expect(await found(other, 'address=203.0.113.0/24')).toEqual([foreign])
    const own = await pageOf(one, `key=${keyId}`)
    expect(Object.keys(own)).toEqual(['Deliveries', 'NextCursor'])
    expect(new Set(Object.keys(own.Deliveries[0] ?? {}))).toEqual(
      new Set(['CustomerID', 'Duplicate', 'OrderID', 'ReceiptID', 'ReceivedAt', 'Status']),
    )
    for (const [who, key] of [
      [other, keyId],
      [operator, crypto.randomUUID()],
      [operator, '%00'],
    ] as const) {
      const answer = await who.get(`/Purchase/deliveries?key=${key}`)
      expect([answer.statusCode, answer.json()]).toEqual([404, failure('API_KEY_NOT_FOUND')])
    }
  })

  const step = fc.record({
    who: fc.nat(2),
    order: fc.option(fc.nat(1)),
    status: fc.nat(1),
    sku: fc.nat(1),
    minutes: fc.nat(2),
    second: fc.boolean(),
    address: fc.constantFrom('192.0.2.1', '192.0.2.77', '2001:db8::7'),
  })
  const filters = fc.record({
    customer: fc.nat(2),
    orderId: fc.nat(2),
    status: fc.nat(2),
    product: fc.nat(2),
    duplicate: fc.boolean(),
    from: fc.nat(20),
    to: fc.nat(20),
    /** Two of each customer. */
    key: fc.nat(5),
    address: fc.constantFrom('192.0.2.1', '192.0.2.0/24', '192.0.2.64/26', '2001:db8::/32', '::/0'),
    limit: fc.constantFrom(1, 2, 5, 100),
  })
  // Few together: many find nothing, whatever is wrong.
  const names = ['customer', 'orderId', 'status', 'product', 'duplicate', 'from', 'to', 'key', 'address'] as const
  const query = fc
    .tuple(filters, fc.subarray([...names], { maxLength: 2 }))
    .map(([{ limit, ...all }, some]): Partial<typeof all> & { readonly limit: number } => ({
      limit,
      ...Object.fromEntries(some.map((name) => [name, all[name]])),
    }))

  it('agrees with a plain model for every filter, in pages without gaps or repeats while data arrives', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 1, maxLength: 25 }),
        fc.array(query, { minLength: 8, maxLength: 8 }),
        async (steps, queries) => {
          clock.time += 3_600_000
          const begun = clock.now()
          const at = (minutes: number): string => new Date(begun + minutes * 60_000).toISOString()
          // One after the other: the order in which they are added counts.
          const all: ReadingSupplier[] = []
          while (all.length < 3) all.push(await readingSupplier(service))
          const keys: { readonly id: string; readonly key: string }[] = []
          for (const { customer, apiKeys, key, keyId } of all) {
            const issued = await apiKeys.issue(customer.id, 'test')
            keys.push({ id: keyId, key }, { id: issued.view.id, key: issued.key })
          }
          const run = all[0]?.customer.id ?? ''
          const model: (Listed & { readonly who: number; readonly sku: number; readonly at: number })[] = []
          const latest = new Map<string, string>()
          for (const { who, order, status, sku, minutes, second, address } of steps) {
            clock.time += minutes * 60_000
            const OrderID = order === null ? undefined : `${run}-${order}`
            const body = JSON.stringify({ OrderID, Status: status, ProductID: `SKU-${sku}` })
            const name = `${who} ${OrderID}`
            const Duplicate = OrderID !== undefined && latest.get(name) === body
            latest.set(name, body)
            const by = keys[2 * who + Number(second)]
            const headers = { ApiKey: by?.key ?? '' }
            const sent = {
              method: 'POST',
              url: '/Purchase/update',
              headers,
              payload: body,
              remoteAddress: address,
            } as const
            expect((await service.app.inject(sent)).statusCode).toBe(200)
            const CustomerID = all[who]?.customer.id ?? ''
            model.unshift({
              ReceiptID: '',
              CustomerID,
              Customer: all[who]?.customer.email ?? '',
              Status: status,
              Duplicate,
              KeyID: by?.id ?? null,
              KeyLabel: 'test',
              Address: address,
              who,
              sku,
              at: clock.now(),
              ...(OrderID && { OrderID }),
            })
          }
          const seen = await walk(operator, `from=${encodeURIComponent(at(0))}&limit=100`)
          const known = model.map((each, index) => ({ ...each, ReceiptID: seen[index]?.ReceiptID ?? '' }))
          const answers = (each: (typeof known)[number]) => {
            const { who: _, sku: __, at, ...rest } = each
            return { ...rest, ReceivedAt: new Date(at).toISOString() }
          }
          expect(seen).toEqual(known.map(answers))
          const within: Record<string, RegExp> = {
            '192.0.2.1': /^192\.0\.2\.1$/,
            '192.0.2.0/24': /^192/,
            '192.0.2.64/26': /77$/,
            '2001:db8::/32': /:/,
            '::/0': /:/,
          }
          for (const { customer, orderId, status, product, duplicate, key, address, from = 0, to, limit } of queries) {
            const fitting = known.filter(
              (each) =>
                (customer === undefined || each.who === customer) &&
                (orderId === undefined || each.OrderID === `${run}-${orderId}`) &&
                (status === undefined || each.Status === status) &&
                (product === undefined || each.sku === product) &&
                (duplicate === undefined || each.Duplicate === duplicate) &&
                (key === undefined || each.KeyID === keys[key]?.id) &&
                (address === undefined || within[address]?.test(each.Address ?? '')) &&
                each.at >= begun + from * 60_000 &&
                (to === undefined || each.at < begun + to * 60_000),
            )
            // Orders with one id come by customer, and customers in the order in which they were added.
            const expected =
              orderId !== undefined && customer === undefined
                ? [0, 1, 2].flatMap((who) => fitting.filter((each) => each.who === who))
                : fitting
            const filters = {
              ...(orderId !== undefined && { orderId: `${run}-${orderId}` }),
              ...(status !== undefined && { status }),
              ...(product !== undefined && { product: `SKU-${product}` }),
              ...(duplicate !== undefined && { duplicate }),
              ...(key !== undefined && { key: keys[key]?.id }),
              ...(address !== undefined && { address }),
              ...(to !== undefined && { to: at(to) }),
              from: at(from),
              limit,
            }
            const text = (more = {}) =>
              new URLSearchParams({ ...filters, ...more } as unknown as Record<string, string>).toString()
            const whose = customer === undefined ? {} : { customer: all[customer]?.customer.id }
            const late = () => (all[0] as ReadingSupplier).deliver({ OrderID: 'late', Status: 0, ProductID: 'LATE' })
            const found = await walk(operator, text(whose), late)
            expect(receiptsOf(found.filter(({ OrderID }) => OrderID !== 'late')), text(whose)).toEqual(
              receiptsOf(expected),
            )
            // A customer does not learn which keys others have.
            if (customer === undefined || (key !== undefined && Math.floor(key / 2) !== customer)) continue
            const own = await walk(all[customer] as ReadingSupplier, text())
            expect(receiptsOf(own.filter(({ OrderID }) => OrderID !== 'late')), text()).toEqual(receiptsOf(expected))
          }
        },
      ),
      { numRuns: kind === 'postgres' ? 4 : 8 },
    )
  })

  it('finds the orders with one id of many customers, in bounded steps', async () => {
    const many = await Promise.all(Array.from({ length: 60 }, () => addSupplier(service)))
    const payload = JSON.stringify({ OrderID: 'shared', Status: 1, ProductID: 'S' })
    for (const { key } of many)
      await service.app.inject({ method: 'POST', url: '/Purchase/update', headers: { ApiKey: key }, payload })
    const ids = new Set(many.map(({ customer }) => customer.id))
    for (const query of ['limit=100', 'limit=1', 'limit=7', 'limit=100&product=S', 'limit=100&duplicate=false']) {
      const found = await walk(operator, `orderId=shared&${query}`)
      expect([found.length, new Set(found.map(({ CustomerID }) => CustomerID))]).toEqual([60, ids])
    }
    expect(await walk(operator, 'orderId=shared&duplicate=true')).toEqual([])
    for (const orderId of ['none', '%00', '%ED%A0%80', "'%20OR%201=1%20--", '%25', '_'])
      expect(await walk(operator, `orderId=${orderId}`)).toEqual([])
  })
})
