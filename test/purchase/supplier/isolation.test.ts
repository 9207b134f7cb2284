import fc from 'fast-check'
import { describe, expect, inject, it } from 'vitest'
import { published } from '../../support/contract.ts'
import { newDatabase } from '../../support/postgres-server.ts'
import { addSupplier } from '../../support/supplier.ts'
import { type TestApp, testApp } from '../../support/test-app.ts'

interface Sent {
  readonly whose: number
  readonly order: number | null
  readonly status: number
  readonly product: number
}

type Supplier = Awaited<ReturnType<typeof addSupplier>>

/** What there is to ask for, of all suppliers. */
interface World {
  readonly receipts: readonly string[]
  readonly cursors: readonly string[]
}

const SUPPLIERS = 3

const sent: fc.Arbitrary<Sent> = fc.record({
  whose: fc.integer({ min: 0, max: SUPPLIERS - 1 }),
  order: fc.option(fc.integer({ min: 0, max: 2 })),
  status: fc.integer({ min: 0, max: 3 }),
  product: fc.integer({ min: 0, max: 1 }),
})

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

/** Every address below /Supplier. */
const ROUTES: readonly ((world: World) => fc.Arbitrary<string>)[] = [
  () => fc.constant('/Supplier/Get'),
  (world) =>
    queries(world, {
      status: fc.constantFrom('0', '1', '2', '3'),
      orderId: fc.constantFrom('PO-0', 'PO-1', 'PO-2'),
      product: fc.constantFrom('SKU-0', 'SKU-1'),
    }).map((query) => `/Supplier/deliveries?${query}`),
  ({ receipts }) => fc.constantFrom(...receipts).map((receipt) => `/Supplier/delivery/${receipt}`),
  ({ receipts }) => fc.constantFrom(...receipts).map((receipt) => `/Supplier/delivery/${receipt}/payload`),
]

describe.each<[string, () => Promise<TestApp>]>([
  ['SQLite', () => testApp()],
  ['PostgreSQL', async () => testApp({ DATABASE_URL: await newDatabase(inject('postgresUrl')) })],
])('an API key on %s', async (_name, start) => {
  const service = await start()
  const { app, clock } = service

  it('covers every route that there is for suppliers', () => {
    expect(Object.keys(published.paths).filter((path) => path.startsWith('/Supplier/'))).toHaveLength(ROUTES.length)
  })

  it('shows nothing of another customer, whatever is stored and asked for', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(sent, { minLength: 1, maxLength: 12 }), fc.gen(), async (all, choose) => {
        const suppliers: Supplier[] = []
        while (suppliers.length < SUPPLIERS) suppliers.push(await addSupplier(service))
        const owned: string[][] = suppliers.map(({ customer, key, keyId }) => [customer.id, customer.email, key, keyId])
        const receipts: string[] = []
        for (const [n, { whose, order, status, product }] of all.entries()) {
          clock.time += 1000
          const mark = `mark-${n}-${suppliers[whose]?.keyId}`
          const body = {
            ...(order !== null && { OrderID: `PO-${order}` }),
            Status: status,
            Sku: `SKU-${product}`,
            mark,
          }
          const headers = { ApiKey: suppliers[whose]?.key ?? '' }
          const payload = JSON.stringify({ ...body, ProductID: `SKU-${product}` })
          const answer = await app.inject({ method: 'POST', url: '/Purchase/update', headers, payload })
          receipts.push(answer.json().data.ReceiptID)
          owned[whose]?.push(answer.json().data.ReceiptID, mark)
        }
        const get = async (who: number, url: string) =>
          app.inject({ url, headers: { ApiKey: suppliers[who]?.key ?? '' } })
        const cursors: string[] = []
        for (const who of suppliers.keys()) {
          for (const query of ['limit=1', 'limit=1&orderId=PO-1', 'limit=1&status=1']) {
            const { NextCursor } = (await get(who, `/Supplier/deliveries?${query}`)).json().data
            if (NextCursor !== null) cursors.push(NextCursor)
          }
        }
        for (let asked = 0; asked < 25; asked++) {
          const who = choose(fc.integer, { min: 0, max: SUPPLIERS - 1 })
          const route = choose(() => fc.oneof(...ROUTES.map((each) => each({ receipts, cursors }))))
          const answer = await get(who, route)
          expect([200, 400, 404], answer.payload).toContain(answer.statusCode)
          // A refusal may repeat what was asked for, but no route does.
          const foreign = owned.flatMap((theirs, whose) => (whose === who ? [] : theirs))
          expect([route, foreign.filter((text) => answer.payload.includes(text))]).toEqual([route, []])
        }
        for (const who of suppliers.keys()) {
          const { Deliveries } = (await get(who, '/Supplier/deliveries?limit=100')).json().data
          const mine = receipts.filter((receipt) => owned[who]?.includes(receipt)).toReversed()
          expect(Deliveries.map(({ ReceiptID }: { ReceiptID: string }) => ReceiptID)).toEqual(mine)
        }
      }),
      { numRuns: 12 },
    )
  })
})
