import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { purgeDeliveries } from '#src/purchase/purge/purge.rule.ts'
import { failure } from '../../support/app/failure.ts'
import { type ReadingSupplier, readingSupplier } from '../../support/app/supplier.ts'
import { testApp } from '../../support/app/test-app.ts'
import { storesOfRun } from '../../support/store/stores.ts'

interface Listed {
  readonly OrderID: string
  readonly CustomerID: string
  readonly Status: number
  readonly ReceiptID: string
}

interface Page {
  readonly Orders: readonly Listed[]
  readonly NextCursor: string | null
}

/** The clock is moved by days. */
const LONG_TOKENS = { TESLIM_TOKEN_TTL: '31536000' }

describe.each(storesOfRun())('the list of orders, newest first, on %s', async (kind, emptyStore) => {
  const service = await testApp({ ...LONG_TOKENS, ...(await emptyStore()) })
  const { clock, store } = service
  const operator = await readingSupplier(service, { scope: 'operator' })

  const pageOf = async (who: ReadingSupplier, query: string, cursor: string | null): Promise<Page> => {
    const answer = await who.get(`/Purchase/list?order=newest&${query}${cursor === null ? '' : `&cursor=${cursor}`}`)
    expect(answer.statusCode, answer.payload).toBe(200)
    return answer.json().data
  }

  const listOf = async (who: ReadingSupplier, query: string, between = async () => {}): Promise<Listed[]> => {
    const listed: Listed[] = []
    let cursor: string | null = null
    do {
      const page: Page = await pageOf(who, query, cursor)
      listed.push(...page.Orders)
      cursor = page.NextCursor
      if (cursor !== null) await between()
    } while (cursor !== null)
    return listed
  }
  const receiptsOf = (listed: readonly Listed[]): string[] => listed.map(({ ReceiptID }) => ReceiptID)

  const step = fc.record({
    order: fc.integer({ min: 0, max: 4 }),
    status: fc.integer({ min: 0, max: 3 }),
    product: fc.integer({ min: 0, max: 1 }),
    whose: fc.integer({ min: 0, max: 1 }),
  })

  it('shows each order once, as it was when paging began, whatever comes in meanwhile', async () => {
    const steps = fc.array(step, { minLength: 1, maxLength: 14 })
    const filter = fc.record(
      {
        status: fc.integer({ min: 0, max: 3 }),
        product: fc.integer({ min: 0, max: 1 }),
        from: fc.integer({ min: 0, max: 15 }),
      },
      { requiredKeys: [] },
    )
    await fc.assert(
      fc.asyncProperty(
        steps,
        filter,
        fc.integer({ min: 1, max: 3 }),
        fc.infiniteStream(step),
        async (all, only, limit, more) => {
          const suppliers = [await readingSupplier(service), await readingSupplier(service)]
          const begun = clock.now()
          const states = new Map<
            string,
            { receipt: string; at: number; status: number; product: number; whose: number }
          >()
          let count = 0
          const deliver = async (
            { order, status, product, whose }: (typeof all)[number],
            counts = true,
          ): Promise<void> => {
            clock.time += 1000
            const body = { OrderID: `PO-${order}`, Status: status, ProductID: `SKU-${product}` }
            const sent = (await suppliers[whose]?.deliver(body)) as { ReceiptID: string; Duplicate?: boolean }
            if (!counts) return
            count++
            const key = `${whose} ${order}`
            if (sent.Duplicate) return
            states.delete(key)
            states.set(key, { receipt: sent.ReceiptID, at: count, status, product, whose })
          }
          for (const each of all) await deliver(each)
          const { status, product, from } = only
          const query = [
            `limit=${limit}`,
            ...(status === undefined ? [] : [`status=${status}`]),
            ...(product === undefined ? [] : [`product=SKU-${product}`]),
            ...(from === undefined ? [] : [`from=${new Date(begun + from * 1000).toISOString()}`]),
          ].join('&')
          const wanted = [...states.values()]
            .filter((one) => status === undefined || one.status === status)
            .filter((one) => product === undefined || one.product === product)
            .filter((one) => from === undefined || one.at >= from)
            .toReversed()
          const between = () => deliver(more.next().value, false)
          const ours = suppliers.map(({ customer }) => customer.id)
          const seen = await listOf(operator, query, between)
          expect(receiptsOf(seen.filter(({ CustomerID }) => ours.includes(CustomerID)))).toEqual(
            wanted.map(({ receipt }) => receipt),
          )
          for (const supplier of suppliers) {
            const before = receiptsOf(await listOf(supplier, query))
            expect(new Set(before).size).toBe(before.length)
            expect(receiptsOf(await listOf(supplier, query, between))).toEqual(before)
          }
        },
      ),
      { numRuns: kind === 'postgres' ? 6 : 15 },
    )
  })

  it('never misses an order because of a purge: the list must be begun again', async () => {
    const who = await readingSupplier(service)
    const begun = clock.now()
    for (let n = 0; n < 6; n++) {
      clock.time += 1000
      await who.deliver({ OrderID: `old-${n}`, Status: 1 })
    }
    const first = await pageOf(who, 'limit=2', null)
    clock.time += 86_400_000
    await who.deliver({ OrderID: 'old-1', Status: 2 })
    expect((await pageOf(who, 'limit=2', first.NextCursor)).Orders).toMatchObject([
      { OrderID: 'old-3' },
      { OrderID: 'old-2' },
    ])
    const yielding = <Result>(work: () => Promise<Result>): Promise<Result> => work()
    const before = begun + 86_400_000
    await purgeDeliveries({ purges: store.purges, yielding }, { before, orders: false, unsent: false, now: before })
    const answer = await who.get(`/Purchase/list?order=newest&limit=2&cursor=${first.NextCursor}`)
    expect([answer.statusCode, answer.json()]).toEqual([410, failure('CURSOR_PURGED')])
    const again = (await pageOf(who, '', null)).Orders.map(({ OrderID }) => OrderID)
    expect(again).toEqual(['old-1', 'old-5', 'old-4', 'old-3', 'old-2', 'old-0'])
  })

  it('has one order by its id, and cursors of its own', async () => {
    const who = await readingSupplier(service)
    for (const n of [1, 2, 3]) await who.deliver({ OrderID: `PO-${n}`, Status: n })
    expect(await pageOf(who, 'orderId=PO-2', null)).toMatchObject({ Orders: [{ OrderID: 'PO-2' }], NextCursor: null })
    const { NextCursor } = await pageOf(who, 'limit=1', null)
    for (const query of [
      `cursor=${NextCursor}`,
      `order=id&cursor=${NextCursor}`,
      `order=newest&status=1&cursor=${NextCursor}`,
    ]) {
      expect((await who.get(`/Purchase/list?${query}`)).json()).toEqual(failure('CURSOR_INVALID'))
    }
    const other = await readingSupplier(service)
    expect((await other.get(`/Purchase/list?order=newest&cursor=${NextCursor}`)).json()).toEqual(
      failure('CURSOR_INVALID'),
    )
    for (const order of ['oldest', 'NEWEST', 'newest&order=id']) {
      expect((await who.get(`/Purchase/list?order=${order}`)).json().errorCode).toBe('INVALID_REQUEST')
    }
    expect((await who.get('/Purchase/list?order=')).statusCode).toBe(200)
  })
})
