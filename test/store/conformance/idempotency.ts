import { describe, expect } from 'vitest'
import { delivery } from '../../support/store/store-rows.ts'
import { type Open, promises } from './promises.ts'

export function describeIdempotency(name: string, open: Open): void {
  describe(`${name}: idempotency keys`, () => {
    const { withCustomers } = promises(open)

    withCustomers('an idempotency key holds its receipt, until it is too old', async ({ deliveries }, one) => {
      const idempotency = { key: 'key', notBefore: 0 }
      const first = delivery(one.id, { idempotency, orderId: 'keyed' })
      const again = delivery(one.id, { idempotency, orderId: 'keyed', payload: first.payload })
      const [receipt, repeated] = await Promise.all([deliveries.deliver(first), deliveries.deliver(again)])
      expect(repeated).toEqual({ ...(receipt as object), duplicate: true })
      await expect(deliveries.deliver(delivery(one.id, { idempotency }))).rejects.toThrow(
        'was used with another body before',
      )
      expect(await deliveries.history(one.id, 'keyed')).toHaveLength(1)
      const later = { key: 'key', notBefore: first.receivedAt + 1 }
      const fresh = delivery(one.id, { idempotency: later, receivedAt: first.receivedAt + 2 })
      expect(await deliveries.deliver(fresh)).toMatchObject({ receiptId: fresh.receiptId, duplicate: false })
      await expect(deliveries.deliver(delivery(one.id, { idempotency: later }))).rejects.toThrow('another body')
    })

    withCustomers('customers share neither orders nor idempotency keys', async (store, one, other) => {
      const same = { orderId: 'same', payload: Buffer.from('{}'), idempotency: { key: 'same', notBefore: 0 } }
      for (const { id } of [one, other]) {
        expect(await store.deliveries.deliver(delivery(id, same))).toMatchObject({ duplicate: false })
      }
      await store.deliveries.deliver(delivery(other.id, { orderId: 'same', status: 0 }))
      expect(await store.deliveries.orderState(one.id, 'same')).toMatchObject({ status: 1 })
      expect(await store.deliveries.history(one.id, 'same')).toHaveLength(1)
    })
  })
}
