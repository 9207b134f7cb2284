import { purgeDeliveries } from '#src/purchase/purge/purge.rule.ts'
import type { NewDelivery, Store } from '#src/store/store.ts'
import { customer, delivery, nextNumber } from '../../support/store/store-rows.ts'

/** A delivery whose receipt was made when it was received, as the service makes them. */
export const receivedAt = (time: number, customerId: string, more: Partial<NewDelivery> = {}): NewDelivery => {
  const hex = time.toString(16).padStart(12, '0')
  const receiptId = `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-${nextNumber().toString(16).padStart(12, '0')}`
  return delivery(customerId, { receiptId, receivedAt: time, ...more })
}

const yielding = <Result>(step: () => Promise<Result>): Promise<Result> => step()

export const purge = (
  { purges }: Store,
  before: number,
  { orders = false, unsent = false, now = before, dryRun = false } = {},
) => purgeDeliveries({ purges, yielding }, { before, orders, unsent, now, dryRun })

export const all = { limit: 1e6, scan: 1e6 }

export const receiptsOf = (deliveries: readonly { receiptId: string }[]) => deliveries.map(({ receiptId }) => receiptId)

let clock = 2_000_000_000_000

/** Returns a time a while after all others. */
export const nextTime = (milliseconds = 1_000_000): number => {
  clock += milliseconds
  return clock
}

/** Returns a time after all others, and removes what was stored before, except for one delivery that an order needs. */
export async function begin(store: Store): Promise<number> {
  const start = nextTime()
  const someone = customer()
  await store.customers.insert(someone)
  await store.deliveries.deliver(receivedAt(start - 1, someone.id, { orderId: 'begun' }))
  await purge(store, start, { orders: true })
  return start
}
