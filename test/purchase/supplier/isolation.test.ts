import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { addSupplier, type ReadingSupplier, readingSupplier } from '../../support/app/supplier.ts'
import { PASSWORD, testApp } from '../../support/app/test-app.ts'
import { published } from '../../support/docs/contract.ts'
import { storesOfRun } from '../../support/store/stores.ts'

interface Sent {
  readonly whose: number
  readonly order: number | null
  readonly status: number
  readonly product: number
  readonly isRefused: boolean
}

type Supplier = Awaited<ReturnType<typeof addSupplier>>

/** What there is to ask for, of all suppliers. */
interface World {
  readonly receipts: readonly string[]
  readonly refusals: readonly string[]
  readonly cursors: readonly string[]
  /** Ids and e-mail addresses. */
  readonly customers: readonly string[]
}

const SUPPLIERS = 3
const NOWHERE = '01a1fd40-d173-7f02-9c11-5be2a7d3f84c'

const sent: fc.Arbitrary<Sent> = fc.record({
  whose: fc.integer({ min: 0, max: SUPPLIERS - 1 }),
  order: fc.option(fc.integer({ min: 0, max: 2 })),
  status: fc.integer({ min: 0, max: 3 }),
  product: fc.integer({ min: 0, max: 1 }),
  isRefused: fc.boolean(),
})

const orders = fc.constantFrom('PO-0', 'PO-1', 'PO-2')

const queries = ({ cursors }: World, more: Record<string, fc.Arbitrary<string>> = {}): fc.Arbitrary<string> =>
  fc
    .record(
      {
        limit: fc.constantFrom('1', '2', '100'),
        from: fc.constantFrom('2020-01-01', '2030-01-01'),
        to: fc.constantFrom('2020-01-01', '2030-01-01'),
        cursor: cursors.length > 0 ? fc.constantFrom(...cursors) : fc.constant(''),
        ...more,
      },
      { requiredKeys: [] },
    )
    .map((query) => new URLSearchParams(query as Record<string, string>).toString())

const someId = (ids: readonly string[]) => fc.constantFrom(NOWHERE, ...ids)

type Route = (world: World) => fc.Arbitrary<string>

const deliveryFilters = {
  status: fc.constantFrom('0', '1', '2', '3'),
  orderId: orders,
  product: fc.constantFrom('SKU-0', 'SKU-1'),
}
const duplicate = fc.constantFrom('true', 'false')
const refusalFilters = { code: fc.constantFrom('INVALID_REQUEST', 'PRODUCT_NOT_AUTHORIZED'), orderId: orders }

/** Every address below /Supplier, for an API key. */
const KEY_ROUTES: readonly Route[] = [
  () => fc.constant('/Supplier/Get'),
  (world) => queries(world, { ...deliveryFilters, duplicate }).map((query) => `/Supplier/deliveries?${query}`),
  ({ receipts }) => someId(receipts).map((receipt) => `/Supplier/delivery/${receipt}`),
  ({ receipts }) => someId(receipts).map((receipt) => `/Supplier/delivery/${receipt}/payload`),
  (world) => queries(world, refusalFilters).map((query) => `/Supplier/refusals?${query}`),
  ({ refusals }) => someId(refusals).map((refusal) => `/Supplier/refusal/${refusal}/payload`),
]

const namingSomebody = (world: World, more: Record<string, fc.Arbitrary<string>> = {}) =>
  queries(world, { ...more, customer: fc.constantFrom('nobody', ...world.customers) })

/** Every address below /Purchase and /Customer that reads, for a token. */
const TOKEN_ROUTES: readonly Route[] = [
  () => fc.constant('/Customer/Get'),
  (world) =>
    fc.constantFrom('nobody', ...world.customers).map((who) => `/Customer/keys?customer=${encodeURIComponent(who)}`),
  (world) => namingSomebody(world, deliveryFilters).map((query) => `/Purchase/list?${query}`),
  (world) => namingSomebody(world, deliveryFilters).map((query) => `/Purchase/list?order=newest&${query}`),
  (world) =>
    fc
      .tuple(orders, fc.constantFrom('', ...world.customers.map((who) => `&customer=${encodeURIComponent(who)}`)))
      .map(([order, who]) => `/Purchase/detail/${order}?payload=full${who}`),
  (world) => namingSomebody(world, { ...deliveryFilters, duplicate }).map((query) => `/Purchase/deliveries?${query}`),
  ({ receipts }) => someId(receipts).map((receipt) => `/Purchase/delivery/${receipt}`),
  ({ receipts }) => someId(receipts).map((receipt) => `/Purchase/delivery/${receipt}/payload`),
  (world) => namingSomebody(world, refusalFilters).map((query) => `/Purchase/refusals?${query}`),
  ({ refusals }) => someId(refusals).map((refusal) => `/Purchase/refusal/${refusal}`),
  ({ refusals }) => someId(refusals).map((refusal) => `/Purchase/refusal/${refusal}/payload`),
  (world) =>
    fc
      .constantFrom('', ...world.customers.map((who) => `&customer=${encodeURIComponent(who)}`))
      .map((who) => `/Purchase/feed?limit=100${who}`),
  (world) =>
    fc
      .constantFrom('', ...world.customers.map((who) => `&customer=${encodeURIComponent(who)}`))
      .map((who) => `/Purchase/stats?by=day${who}`),
]

const ROUTES = [...KEY_ROUTES, ...TOKEN_ROUTES]

const reading = Object.entries(published.paths).filter(
  ([path, methods]) => 'get' in methods && /^\/(Supplier|Purchase|Customer)\//.test(path),
)

const SETTINGS = { TESLIM_KEEP_REFUSED: 'known', TESLIM_TOKEN_TTL: '31536000' }

describe.each(storesOfRun())('an API key, or a token, on %s', async (kind, emptyStore) => {
  const service = await testApp({ ...SETTINGS, ...(await emptyStore()) })
  const { app, clock } = service

  it('covers every route that there is to read with a key or a token', () => {
    const below = (folder: RegExp) => reading.filter(([path]) => folder.test(path))
    expect(below(/^\/Supplier\//)).toHaveLength(KEY_ROUTES.length)
    // The list of orders has two walks.
    expect(below(/^\/(Purchase|Customer)\//)).toHaveLength(TOKEN_ROUTES.length - 1)
  })

  it('answers to the letter alike for what another customer has and for what is not there', async () => {
    const [one, other] = [await readingSupplier(service), await readingSupplier(service)]
    const operator = await readingSupplier(service, { scope: 'operator', authority: [] })
    const { ReceiptID } = await one.deliver({ OrderID: 'mine', Status: 1 })
    await expect(one.deliver({ OrderID: 'mine', Status: 9 })).rejects.toThrow('INVALID_REQUEST')
    await app.flushRefusals()
    const { RefusalID } = (await one.get('/Purchase/refusals')).json().data.Refusals[0]
    const ids = { orderId: ['mine', 'none'], receiptId: [ReceiptID, NOWHERE], refusalId: [RefusalID, NOWHERE] }
    const pairs = reading.flatMap(([path, methods]) => {
      const [here, away] = [0, 1].map((which) =>
        path.replace(/\{(\w+)\}/, (_, name) => ids[name as keyof typeof ids][which] ?? ''),
      ) as [string, string]
      const takesCustomer = methods.get?.parameters?.some(({ name }) => name === 'customer')
      const names = takesCustomer ? [one.customer.id, one.customer.email] : []
      return [
        ...(here === away ? [] : [[here, away]]),
        ...names.map((name) => [`${here}?customer=${name}`, `${here}?customer=nobody%40example.com`]),
      ] as [string, string][]
    })
    expect(pairs.length).toBeGreaterThan(20)
    const ask = async (who: ReadingSupplier, url: string) => {
      const headers = {
        'x-request-id': 'same',
        ...(url.startsWith('/Supplier/') && { ApiKey: who.key, authorization: '' }),
      }
      const answer = await who.get(url, headers)
      return { status: answer.statusCode, payload: answer.payload, headers: { ...answer.headers, date: null } }
    }
    for (const [foreign, missing] of pairs) {
      const answer = await ask(other, foreign)
      expect(answer, foreign).toEqual(await ask(other, missing))
      expect([answer.status, JSON.parse(answer.payload).errorCode], foreign).toEqual([
        404,
        expect.stringMatching(/_NOT_FOUND$/),
      ])
      expect([(await ask(one, foreign)).status, foreign]).toEqual([200, foreign])
      if (foreign.startsWith('/Supplier/')) continue
      expect([(await ask(operator, foreign)).status, foreign]).toEqual([200, foreign])
      for (const odd of [missing, missing.replace('nobody%40example.com', '%00'), missing.replace(NOWHERE, '%00')])
        expect((await ask(operator, odd)).status, odd).toBe(404)
    }
  })

  it('shows nothing of another customer, whatever is stored and asked for', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(sent, { minLength: 1, maxLength: 12 }), fc.gen(), async (all, choose) => {
        const suppliers: Supplier[] = []
        while (suppliers.length < SUPPLIERS) suppliers.push(await addSupplier(service))
        const owned: string[][] = suppliers.map(({ customer, key, keyId }) => [customer.id, customer.email, key, keyId])
        const receipts: string[] = []
        const refusals: string[] = []
        for (const [n, { whose, order, status, product, isRefused }] of all.entries()) {
          // A minute later the audit log has room again.
          clock.time += 60_000
          const mark = `mark-${n}-${suppliers[whose]?.keyId}`
          const body = {
            ...(order !== null && { OrderID: `PO-${order}` }),
            Status: isRefused ? 9 : status,
            Sku: `SKU-${product}`,
            mark,
          }
          const headers = { ApiKey: suppliers[whose]?.key ?? '' }
          const payload = JSON.stringify({ ...body, ProductID: `SKU-${product}` })
          const answer = await app.inject({ method: 'POST', url: '/Purchase/update', headers, payload })
          owned[whose]?.push(mark)
          await app.flushRefusals()
          if (isRefused) continue
          receipts.push(answer.json().data.ReceiptID)
          owned[whose]?.push(answer.json().data.ReceiptID)
        }
        const tokens: string[] = []
        for (const { customer } of suppliers)
          tokens.push((await service.login({ Email: customer.email, Password: PASSWORD })).json().data.Token)
        const get = async (who: number, url: string) =>
          app.inject({
            url,
            headers: url.startsWith('/Supplier/')
              ? { ApiKey: suppliers[who]?.key ?? '' }
              : { authorization: `Bearer ${tokens[who]}` },
          })
        const customers = suppliers.flatMap(({ customer }) => [customer.id, customer.email])
        const cursors: string[] = []
        for (const who of suppliers.keys()) {
          const { Refusals, NextCursor } = (await get(who, '/Supplier/refusals?limit=1')).json().data
          if (NextCursor !== null) cursors.push(NextCursor)
          const ids = Refusals.map(({ RefusalID }: { RefusalID: string }) => RefusalID)
          refusals.push(...ids)
          owned[who]?.push(...ids)
          for (const address of [
            '/Supplier/deliveries',
            '/Purchase/deliveries',
            '/Purchase/list',
            '/Purchase/refusals',
          ])
            for (const query of ['limit=1', 'limit=1&orderId=PO-1', 'limit=1&to=2030-01-01']) {
              const { NextCursor } = (await get(who, `${address}?${query}`)).json().data
              if (NextCursor !== null) cursors.push(NextCursor)
            }
        }
        for (let asked = 0; asked < 50; asked++) {
          const who = choose(fc.integer, { min: 0, max: SUPPLIERS - 1 })
          const route = choose(() =>
            fc.oneof(...ROUTES.map((each) => each({ receipts, refusals, cursors, customers }))),
          )
          const answer = await get(who, route)
          expect([200, 400, 404], answer.payload).toContain(answer.statusCode)
          // A refusal may repeat what was asked for, but no route does.
          const foreign = owned.flatMap((theirs, whose) => (whose === who ? [] : theirs))
          expect([route, foreign.filter((text) => answer.payload.includes(text))]).toEqual([route, []])
        }
        for (const who of suppliers.keys()) {
          for (const folder of ['/Supplier', '/Purchase']) {
            const { Deliveries } = (await get(who, `${folder}/deliveries?limit=100`)).json().data
            const mine = receipts.filter((receipt) => owned[who]?.includes(receipt)).toReversed()
            expect(Deliveries.map(({ ReceiptID }: { ReceiptID: string }) => ReceiptID)).toEqual(mine)
            const { Refusals } = (await get(who, `${folder}/refusals?limit=100`)).json().data
            expect(Refusals).toHaveLength(all.filter(({ whose, isRefused }) => whose === who && isRefused).length)
          }
        }
      }),
      { numRuns: kind === 'postgres' ? 4 : 12 },
    )
  })
})
