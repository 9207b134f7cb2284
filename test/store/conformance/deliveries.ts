import { describe, expect } from 'vitest'
import { delivery } from '../../support/store/store-rows.ts'
import { bytes, type Open, promises } from './promises.ts'

export function describeDeliveries(name: string, open: Open): void {
  describe(`${name}: deliveries`, () => {
    const { withCustomers } = promises(open)

    withCustomers('a delivery is read back as it was stored, to the byte', async ({ deliveries }, one) => {
      const payload = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))
      const sent = delivery(one.id, { orderId: 'ı/"\\ 漢', status: 3, payload })
      const receipt = { receiptId: sent.receiptId, orderId: sent.orderId, status: 3, receivedAt: sent.receivedAt }
      expect(await deliveries.deliver(sent)).toEqual({ ...receipt, duplicate: false })
      const stored = await deliveries.findByReceipt(sent.receiptId)
      expect(stored).toMatchObject({ ...receipt, customerId: one.id, duplicate: false })
      expect(bytes(stored?.payload)).toEqual(payload)
      expect(await deliveries.orderState(one.id, sent.orderId ?? '')).toEqual(receipt)
      expect(await deliveries.findByReceipt('00000000-0000-7000-8000-000000000000')).toBeUndefined()
      expect(await deliveries.findByReceipt('no receipt')).toBeUndefined()
      expect(await deliveries.orderState('nobody', sent.orderId ?? '')).toBeUndefined()
    })

    withCustomers('a delivery without an order has no state', async ({ deliveries }, one) => {
      const sent = delivery(one.id, { orderId: null })
      const again = delivery(one.id, { orderId: null, payload: sent.payload })
      expect([await deliveries.deliver(sent), await deliveries.deliver(again)]).toMatchObject([
        { orderId: null, duplicate: false },
        { orderId: null, duplicate: false },
      ])
    })

    withCustomers('many at once are all stored, in an order that positions tell', async ({ deliveries }, one) => {
      const sent = Array.from({ length: 300 }, (_, number) =>
        delivery(one.id, { orderId: 'busy', status: number % 4, payload: Buffer.alloc(number * 50, number) }),
      )
      await Promise.all(sent.map((each) => deliveries.deliver(each)))
      const history = await deliveries.history(one.id, 'busy')
      expect(history.map(({ receiptId }) => receiptId)).toEqual(sent.map(({ receiptId }) => receiptId).toReversed())
      const payloads = await deliveries.payloads(history.map(({ position }) => position))
      for (const [index, { position, payloadBytes }] of history.entries()) {
        const payload = bytes(sent[299 - index]?.payload)
        expect(Buffer.compare(bytes(payloads.get(position)), payload)).toBe(0)
        expect(payloadBytes).toBe(payload.length)
        expect(position).toBeLessThan(history[index - 1]?.position ?? Number.POSITIVE_INFINITY)
      }
      expect(await deliveries.orderState(one.id, 'busy')).toMatchObject({ receiptId: sent[299]?.receiptId, status: 3 })
    })

    withCustomers(
      'an echo is kept as a duplicate, also in the batch of what it repeats',
      async ({ deliveries }, one) => {
        const first = delivery(one.id, { orderId: 'echo' })
        const echoes = [1, 2].map(() => delivery(one.id, { orderId: 'echo', payload: first.payload, receivedAt: 9e12 }))
        const [receipt, ...repeated] = await Promise.all([first, ...echoes].map((each) => deliveries.deliver(each)))
        for (const one of repeated) expect(one).toEqual({ ...(receipt as object), duplicate: true })
        const history = await deliveries.history(one.id, 'echo')
        expect(history.map(({ receiptId, duplicate }) => [receiptId, duplicate])).toEqual([
          [echoes[1]?.receiptId, true],
          [echoes[0]?.receiptId, true],
          [first.receiptId, false],
        ])
        expect(await deliveries.orderState(one.id, 'echo')).toMatchObject({ receiptId: first.receiptId })
        const other = delivery(one.id, { orderId: 'echo', status: 2 })
        await deliveries.deliver(other)
        const back = delivery(one.id, { orderId: 'echo', payload: first.payload })
        expect(await deliveries.deliver(back)).toMatchObject({ receiptId: back.receiptId, duplicate: false })
      },
    )

    withCustomers('the same bytes under a new idempotency key are an echo too', async ({ deliveries }, one) => {
      const under = (key: string) => ({ orderId: 'keyed', idempotency: { key, notBefore: 0 } })
      const first = delivery(one.id, under('one'))
      const echo = delivery(one.id, { ...under('two'), payload: first.payload })
      const receipt = await deliveries.deliver(first)
      expect(await deliveries.deliver(echo)).toEqual({ ...(receipt as object), duplicate: true })
      expect(await deliveries.history(one.id, 'keyed')).toMatchObject([
        { receiptId: echo.receiptId, duplicate: true },
        { receiptId: first.receiptId, duplicate: false },
      ])
    })
  })
}
