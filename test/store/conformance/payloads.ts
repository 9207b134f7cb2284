import { describe, expect } from 'vitest'
import { delivery } from '../../support/store/store-rows.ts'
import { bytes, deliverAll, type Open, promises } from './promises.ts'

export function describePayloads(name: string, open: Open): void {
  describe(`${name}: payloads`, () => {
    const { withCustomers } = promises(open)

    withCustomers('come by position, to the byte, those that are there', async (store, one) => {
      const sent = [0, 1, 70_000].map((length) => delivery(one.id, { payload: Buffer.alloc(length, 0xff) }))
      await deliverAll(store, sent)
      const found = await Promise.all(sent.map(({ receiptId }) => store.deliveries.findByReceipt(receiptId)))
      const positions = found.map((each) => each?.position ?? 0)
      const payloads = await store.deliveries.payloads([...positions, 1e12])
      expect([...payloads.keys()].toSorted((a, b) => a - b)).toEqual(positions)
      for (const [index, position] of positions.entries()) {
        expect(Buffer.compare(payloads.get(position) ?? Buffer.from('none'), sent[index]?.payload as Buffer)).toBe(0)
      }
      expect(await store.deliveries.payloads([])).toEqual(new Map())
    })

    withCustomers('come with a page of deliveries, as many as fit, and one at least', async (store, one) => {
      const start = await store.deliveries.lastPosition()
      const lengths = [0, 10, 70_000, 20]
      const sent = lengths.map((length, n) => delivery(one.id, { payload: Buffer.alloc(length, n) }))
      await deliverAll(store, sent)
      for (const filter of [{}, { customerId: one.id }]) {
        const page = async (after: number, maxBytes: number) => {
          const found = await store.deliveries.pageAfter(after, filter, { limit: 10, scan: 100 }, maxBytes)
          const { deliveries, position, payloads, isCut } = found
          const read = deliveries.map((each) => bytes(payloads.get(each.position)))
          expect(deliveries.map(({ payloadBytes }) => payloadBytes)).toEqual(read.map(({ length }) => length))
          return { receipts: deliveries.map(({ receiptId }) => receiptId), position, isCut, read }
        }
        const all = await page(start, 1e6)
        expect(all).toMatchObject({ receipts: sent.map(({ receiptId }) => receiptId), isCut: false })
        expect(Buffer.concat(all.read)).toEqual(Buffer.concat(sent.map(({ payload }) => payload)))
        const two = await page(start, 10)
        expect(two).toMatchObject({ receipts: [sent[0]?.receiptId, sent[1]?.receiptId], isCut: true })
        const large = await page(two.position, 10)
        expect(large).toMatchObject({ receipts: [sent[2]?.receiptId], isCut: true })
        expect(await page(large.position, 10)).toMatchObject({ receipts: [sent[3]?.receiptId], isCut: false })
        const end = { receipts: [], position: all.position, isCut: false, read: [] }
        expect(await page(all.position, 10)).toEqual(end)
      }
    })

    withCustomers('are left out where they cannot hold a text', async (store, one) => {
      const texts = [
        '{"sku":"Aş-1"}',
        '{"sku":"\\u0041ş-1"}',
        '{"sku":"A%-1"}',
        '{"sku":"aş-1"}',
        '{"sku":"A\\/"}',
        'Aş-1',
      ]
      const sent = texts.map((text) => delivery(one.id, { payload: Buffer.from(text) }))
      await deliverAll(store, sent)
      const found = await Promise.all(sent.map(({ receiptId }) => store.deliveries.findByReceipt(receiptId)))
      const payloads = await store.deliveries.payloads(
        found.map((each) => each?.position ?? 0),
        'Aş-1',
      )
      const held = new Set(Array.from(payloads.values(), (payload) => bytes(payload).toString()))
      expect(held).toEqual(new Set([texts[0], texts[1], texts[4], texts[5]]))
    })
  })
}
