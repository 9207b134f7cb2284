import { type Caller, customerAskedFor } from '#src/customer/find-customer.ts'
import { AppError } from '#src/lib/app-error.ts'
import type { OrderPlace, Store } from '#src/store/store.ts'
import { purchaseErrors } from '../purchase.errors.ts'

/** Orders that one look-up scans. */
const MAX_SCANNED = 250

/** Finds the customer of an order: `who`, if it is given, or the only one that has an order with this id. */
export const createFindOrder =
  ({ deliveries, customers }: Pick<Store, 'deliveries' | 'customers'>) =>
  async (caller: Caller, who: string | undefined, orderId: string): Promise<string> => {
    const customerId = await customerAskedFor(caller, who, customers)
    if (customerId !== undefined) return customerId
    const found: string[] = []
    for (let after: OrderPlace | null = null; ; ) {
      const { orders, next } = await deliveries.orders(after, { orderId }, { limit: 2, scan: MAX_SCANNED })
      found.push(...orders.map(({ customerId }) => customerId))
      if (found.length > 1) throw new AppError(purchaseErrors.orderAmbiguous)
      if (next === null) {
        if (found[0] === undefined) throw new AppError(purchaseErrors.orderNotFound)
        return found[0]
      }
      after = next
    }
  }
