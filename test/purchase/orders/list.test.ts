import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { failure } from '../../support/app/failure.ts'
import { type ReadingSupplier, readingSupplier } from '../../support/app/supplier.ts'
import { testApp, testAppBeside } from '../../support/app/test-app.ts'
import { storesOfRun } from '../../support/store/stores.ts'

interface ListedOrder {
  readonly OrderID: string
  readonly CustomerID: string
  readonly Status: number
  readonly ReceiptID: string
}

interface ListPage {
  readonly Orders: readonly ListedOrder[]
  readonly NextCursor: string | null
}

const pageOf = async ({ get }: ReadingSupplier, query: string): Promise<ListPage> => {
  const answer = await get(`/Purchase/list?${query}`)
  expect(answer.statusCode, answer.payload).toBe(200)
  return answer.json().data
}

/** Reads all pages and runs `between` after each. */
async function walk(who: ReadingSupplier, query: string, between: () => Promise<unknown> = async () => undefined) {
  const pages: (readonly ListedOrder[])[] = []
  for (let cursor = ''; ; ) {
    const { Orders, NextCursor } = await pageOf(who, `${query}${cursor && `&cursor=${cursor}`}`)
    pages.push(Orders)
    if (NextCursor === null) return pages
    cursor = NextCursor
    await between()
  }
}

const idsOf = (pages: readonly (readonly ListedOrder[])[]) => pages.flat().map(({ OrderID }) => OrderID)

describe.each(storesOfRun())('the list of orders on %s', async (kind, emptyStore) => {
  const service = await testApp(await emptyStore())
  const { clock } = service
  const filled = await readingSupplier(service)
  const begun = clock.now()
  for (let n = 0; n < 40; n++) {
    const OrderID = `PO-${String((n * 7) % 40).padStart(2, '0')}`
    clock.time += 1000
    await filled.deliver({ OrderID, Status: n % 4, Products: [{ Sku: `SKU-${n % 5}` }, { Sku: 'ALL' }] })
  }
  const all = Array.from({ length: 40 }, (_, n) => `PO-${String(n).padStart(2, '0')}`)
  const second = (n: number): string => new Date(begun + n * 1000).toISOString()
  const nth = (numbers: readonly number[]): string[] =>
    numbers.map((n) => `PO-${String((n * 7) % 40).padStart(2, '0')}`).toSorted()
  const whole = Array.from({ length: 40 }, (_, n) => n)

  it('is sorted by order id, in pages of 50 by default', async () => {
    const page = await pageOf(filled, '')
    expect(idsOf([page.Orders])).toEqual(all)
    expect(page.NextCursor).toBeNull()
    for (const limit of [1, 7, 40, 100]) {
      const pages = await walk(filled, `limit=${limit}`)
      expect(idsOf(pages)).toEqual(all)
      expect(pages.map(({ length }) => length)).toEqual(
        Array.from({ length: Math.ceil(40 / limit) }, (_, n) => Math.min(limit, 40 - n * limit)),
      )
    }
  })

  it('is filtered by status, order, product and time, alone and together', async () => {
    for (const limit of [3, 50]) {
      const list = async (query: string) => idsOf(await walk(filled, `${query}&limit=${limit}`))
      expect(await list('status=2')).toEqual(nth(whole.filter((n) => n % 4 === 2)))
      expect(await list('STATUS=0')).toEqual(nth(whole.filter((n) => n % 4 === 0)))
      expect(await list('orderid=PO-07')).toEqual(['PO-07'])
      expect(await list('orderId=po-07')).toEqual([])
      expect(await list('product=SKU-3')).toEqual(nth(whole.filter((n) => n % 5 === 3)))
      expect(await list('product=ALL')).toEqual(all)
      expect(await list('product=sku-3')).toEqual([])
      expect(await list(`from=${second(31)}`)).toEqual(nth(whole.slice(30)))
      expect(await list(`to=${second(31)}`)).toEqual(nth(whole.slice(0, 30)))
      expect(await list(`from=${second(5)}&to=${second(9)}`)).toEqual(nth([4, 5, 6, 7]))
      expect(await list(`from=${second(5)}&to=${second(5)}`)).toEqual([])
      const together = whole.slice(9).filter((n) => n % 4 === 1 && n % 5 === 2)
      expect(await list(`status=1&product=SKU-2&from=${second(10)}`)).toEqual(nth(together))
    }
  })

  it.each(['status=', 'orderId=', 'product=', 'from=', 'to=', 'customer=', 'cursor=', 'limit=', 'STATUS=&status='])(
    'takes %s as not sent',
    async (query) => {
      expect(idsOf([await pageOf(filled, query)].map(({ Orders }) => Orders))).toEqual(all)
      expect(idsOf([(await pageOf(filled, `${query}&status=1&limit=2`)).Orders])).toHaveLength(2)
    },
  )

  it('finds a product in the last delivery of an order, whatever its bytes look like', async () => {
    const who = await readingSupplier(service)
    await who.deliver('\ufeff{"Status":1,"OrderID":"a","productid":"ü\\u0031"}')
    await who.deliver('{"Status":1,"OrderID":"b","Products":[{"sku":7},{"Sku":1e3}]}')
    await who.deliver('{"Status":1,"OrderID":"c","ProductCode":"gone"}')
    await who.deliver('{"Status":1,"OrderID":"c","ProductCode":"here"}')
    for (const [product, ids] of [
      ['ü1', ['a']],
      ['7', ['b']],
      ['1e3', ['b']],
      ['gone', []],
      ['here', ['c']],
    ] as const) {
      expect(idsOf(await walk(who, `product=${encodeURIComponent(product)}&limit=1`))).toEqual(ids)
    }
  })

  it('searches large orders for a product a few at a time', async () => {
    const who = await readingSupplier(service)
    const filling = 'x'.repeat(200_000)
    for (let n = 0; n < 6; n++) await who.deliver({ OrderID: `large-${n}`, Status: 1, ProductID: `P${n}`, filling })
    const pages = await walk(who, 'product=P4')
    expect(pages.map((page) => page.map(({ OrderID }) => OrderID))).toEqual([[], [], [], [], ['large-4'], []])
  })

  it('shows every order that existed at the start exactly once, whatever comes in meanwhile', async () => {
    const orderIds = fc.uniqueArray(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }), {
      minLength: 1,
      maxLength: 20,
    })
    const limits = fc.integer({ min: 1, max: 4 })
    await fc.assert(
      fc.asyncProperty(orderIds, limits, fc.infiniteStream(fc.string({ minLength: 1 })), async (ids, limit, more) => {
        const who = await readingSupplier(service)
        for (const OrderID of ids) await who.deliver({ OrderID, Status: 1 })
        const between = async () => {
          const [fresh, changed] = [more.next().value, ids[Math.floor(ids.length / 2)]]
          await who.deliver({ OrderID: fresh, Status: 2, fresh })
          await who.deliver({ OrderID: changed, Status: 3, fresh })
        }
        const seen = idsOf(await walk(who, `limit=${limit}`, between))
        expect(seen.length).toBe(new Set(seen).size)
        expect(seen.filter((id) => ids.includes(id)).toSorted()).toEqual(ids.toSorted())
      }),
      { numRuns: kind === 'postgres' ? 5 : 10 },
    )
  })

  it('accepts a cursor at another replica, later, with another limit and differently spelled filters', async () => {
    const beside = await testAppBeside(service)
    beside.clock.time += 1800_000
    const to = second(35)
    const { Orders, NextCursor } = await pageOf(filled, `limit=5&status=1&to=${to}`)
    const headers = { authorization: `Bearer ${filled.token}` }
    const local = new Date(Date.parse(to) + 10_800_000).toISOString().replace('Z', '%2B03:00')
    const url = `/Purchase/list?Cursor=${NextCursor}&TO=${local}&status=1`
    const rest = (await beside.app.inject({ url, headers })).json().data
    const wanted = nth(whole.slice(0, 34).filter((n) => n % 4 === 1))
    expect(idsOf([Orders, rest.Orders])).toEqual(wanted)
  })

  it('refuses a cursor with other filters, for another customer or at another address', async () => {
    const other = await readingSupplier(service)
    const operator = await readingSupplier(service, { scope: 'operator' })
    const cursor = (await pageOf(filled, 'limit=1')).NextCursor
    const filtered = (await pageOf(filled, 'limit=1&status=1')).NextCursor
    const everybody = (await pageOf(operator, 'limit=1')).NextCursor
    const refused = async (who: ReadingSupplier, url: string) => {
      const answer = await who.get(url)
      expect([url, answer.statusCode, answer.json()]).toEqual([url, 400, failure('CURSOR_INVALID')])
    }
    for (const more of ['&status=1', '&product=x', '&orderId=PO-01', `&from=${second(1)}`, `&to=${second(1)}`]) {
      await refused(filled, `/Purchase/list?cursor=${cursor}${more}`)
    }
    await refused(filled, `/Purchase/list?cursor=${filtered}`)
    await refused(filled, `/Purchase/list?cursor=${filtered}&status=2`)
    await refused(filled, `/Purchase/list?cursor=${everybody}`)
    await refused(other, `/Purchase/list?cursor=${cursor}`)
    await refused(operator, `/Purchase/list?cursor=${cursor}`)
    await refused(filled, `/Purchase/detail/PO-01?cursor=${cursor}`)
    expect((await pageOf(operator, `customer=${filled.customer.id}&cursor=${cursor}`)).Orders).not.toEqual([])
    for (const odd of ['x', 'null', '%00', 'A'.repeat(22), 'A'.repeat(9000), `${cursor}%3D`, `${cursor}.`]) {
      await refused(filled, `/Purchase/list?cursor=${odd}`)
    }
  })
})
