import fc from 'fast-check'
import { describe, expect } from 'vitest'
import type { NewDelivery, Receipt, Store } from '#src/store/store.ts'
import { runs } from '../../support/random-runs.ts'
import { delivery } from '../../support/store/store-rows.ts'
import { type Open, promises } from './promises.ts'

const outcomeOf = (promise: Promise<Receipt | undefined>) =>
  promise.then(
    (receipt) => ({ receipt: receipt?.duplicate ? receipt : undefined }),
    (error: Error & { code?: string }) => ({ code: error.code ?? error.message }),
  )

/** Asks whether a delivery is a duplicate, then makes it. Both must say the same. */
async function compare({ deliveries }: Store, wanted: NewDelivery): Promise<void> {
  const expected = await outcomeOf(deliveries.findDuplicate(wanted))
  expect(await outcomeOf(deliveries.deliver(wanted))).toEqual(expected)
}

export function describeFindDuplicate(name: string, open: Open): void {
  describe(`${name}: finding a duplicate`, () => {
    const { withCustomers } = promises(open)

    withCustomers(
      'says what deliver says then, after any deliveries, and stores nothing',
      async (store, one, other) => {
        const step = fc.record({
          customer: fc.constantFrom(one.id, other.id),
          orderId: fc.constantFrom('asked-a', 'asked-b', null),
          bytes: fc.constantFrom('{"Status":1}', '{"Status":2}'),
          key: fc.option(fc.constantFrom('key-1', 'key-2')),
          expired: fc.boolean(),
          twice: fc.boolean(),
        })
        let now = 1_700_000_000_000
        await fc.assert(
          fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
            for (const { customer, orderId, bytes, key, expired, twice } of steps) {
              now += 10
              const idempotency = key === null ? null : { key, notBefore: expired ? now - 15 : 0 }
              const wanted = () =>
                delivery(customer, { orderId, payload: Buffer.from(bytes), idempotency, receivedAt: now })
              const before = await store.deliveries.lastPosition()
              await outcomeOf(store.deliveries.findDuplicate(wanted()))
              expect(await store.deliveries.lastPosition()).toBe(before)
              await compare(store, wanted())
              if (twice) await compare(store, wanted())
            }
          }),
          { numRuns: runs(15) },
        )
      },
    )

    withCustomers('refuses for an erased customer, as deliver does', async (store, one) => {
      await store.customers.remove(one.id, { tokenGeneration: 'ended', now: 1, erase: true })
      expect(await outcomeOf(store.deliveries.findDuplicate(delivery(one.id)))).toEqual({ code: 'API_KEY_INVALID' })
      await compare(store, delivery(one.id))
    })
  })
}
