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
