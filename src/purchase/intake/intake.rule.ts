import type { Account } from '#src/customer/accounts.ts'
import { AppError } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import type { DeliveryStore, Receipt } from '#src/store/store.ts'
import type { DeliveryFacts } from '../delivery-body.ts'
import { purchaseErrors } from '../purchase.errors.ts'

export interface DeliverDependencies {
  readonly deliveries: DeliveryStore
  readonly clock: Clock
  readonly newId: (nowMilliseconds: number) => string
  readonly idempotencyDays: number
  /** Named to suppliers whose deliveries name no product. */
  readonly productPointers: readonly string[]
}

export interface IncomingDelivery extends DeliveryFacts {
  readonly payload: Uint8Array
  readonly idempotencyKey: string | undefined
}

export type Deliver = (account: Account, delivery: IncomingDelivery) => Promise<Receipt>

const DAY_MILLISECONDS = 86_400_000

export function createDeliver(dependencies: DeliverDependencies): Deliver {
  const { deliveries, clock, newId, idempotencyDays, productPointers } = dependencies
  return (account, delivery) => {
    checkAuthority(account, delivery, productPointers)
    const { status, orderId, payload, idempotencyKey: key } = delivery
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

/** Denies by default: a rule must cover every product that is named, and a body that names none needs the rule `*`. */
function checkAuthority({ authority }: Account, delivery: DeliveryFacts, productPointers: readonly string[]): void {
  const { products, oddities } = delivery
  if (authority.everything) return
  if (products.length === 0) {
    const misspelled = oddities.filter(({ path }) => path !== '')
    const places = productPointers.join(', ')
    throw new AppError(purchaseErrors.notAuthorized, {
      message: `The delivery names no product at ${places}; a delivery without a product needs an API key with the rule *.`,
      reason: 'names no product',
      ...(misspelled.length > 0 && { problems: misspelled }),
    })
  }
  if (products.every(authority.covers)) return
  const refused = [...new Set(products.filter((product) => !authority.covers(product)))]
  throw new AppError(purchaseErrors.notAuthorized, {
    message: `This API key may not deliver: ${refused.join(', ')}.`,
    problems: refused.map((product) => ({ path: '', message: `product ${product} is not allowed` })),
  })
}
