import type { Account } from '#src/customer/accounts.ts'
import { AppError } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import type { DeliveryStore, Receipt } from '#src/store/store.ts'
import { purchaseErrors } from '../purchase.errors.ts'

export interface DeliverDependencies {
  readonly deliveries: DeliveryStore
  readonly clock: Clock
  readonly newId: (nowMilliseconds: number) => string
  readonly idempotencyDays: number
}

export interface IncomingDelivery {
  readonly status: number
  readonly orderId: string | null
  readonly products: readonly string[]
  readonly payload: Uint8Array
  readonly idempotencyKey: string | undefined
}

export type Deliver = (account: Account, delivery: IncomingDelivery) => Promise<Receipt>

const DAY_MILLISECONDS = 86_400_000

export function createDeliver({ deliveries, clock, newId, idempotencyDays }: DeliverDependencies): Deliver {
  return (account, { status, orderId, products, payload, idempotencyKey: key }) => {
    checkAuthority(account, products)
    const receivedAt = clock.now()
    return deliveries.deliver({
      receiptId: newId(receivedAt),
      customerId: account.customer.id,
      orderId,
      status,
      receivedAt,
      payload,
      idempotency: key === undefined ? null : { key, notBefore: receivedAt - idempotencyDays * DAY_MILLISECONDS },
    })
  }
}

/** Denied by default: every product that is named must be covered, and a body that names none needs `*`. */
function checkAuthority({ authority }: Account, products: readonly string[]): void {
  if (authority.everything) return
  if (products.length === 0) {
    throw new AppError(purchaseErrors.notAuthorized, {
      message: 'The delivery names no product, which only a key with authority over all products may do.',
      reason: 'names no product',
    })
  }
  if (products.every(authority.covers)) return
  const refused = [...new Set(products.filter((product) => !authority.covers(product)))]
  throw new AppError(purchaseErrors.notAuthorized, {
    message: `Not within the authority of this ApiKey: ${refused.join(', ')}.`,
    problems: refused.map((product) => ({ path: '', message: `product ${product} is not within the authority` })),
  })
}
