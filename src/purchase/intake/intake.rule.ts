import { AppError, type Problem } from '#src/lib/app-error.ts'
import { type Clock, isoMilliseconds } from '#src/lib/clock.ts'
import { DAY_MILLISECONDS } from '#src/lib/duration.ts'
import { few, message, textOf } from '#src/lib/messages/message.ts'
import type { Metrics } from '#src/lib/metrics.ts'
import type { DeliveryOrigin, DeliveryStore, NewDelivery, Receipt, Sequence } from '#src/store/store.ts'
import type { ParsedDelivery } from '../delivery-body.ts'
import { purchaseErrors } from '../purchase.errors.ts'
import { STATUS_MEANINGS } from '../status.ts'
import type { Supplier } from '../suppliers.ts'

export interface IntakeDependencies {
  readonly deliveries: Pick<DeliveryStore, 'deliver' | 'findDuplicate'>
  readonly clock: Clock
  readonly newId: (nowMilliseconds: number) => string
  readonly idempotencyDays: number
  /** Named to suppliers whose deliveries name no product. */
  readonly productPointers: readonly string[]
}

/** What a delivery would be answered with, apart from its receipt. */
export type Outcome = Pick<Receipt, 'status' | 'orderId' | 'duplicate'>

export interface Intake {
  /** Stores a delivery that the supplier may make. */
  deliver(supplier: Supplier, delivery: ParsedDelivery, origin: DeliveryOrigin, sequence?: Sequence): Promise<Receipt>
  /** Refuses what `deliver` would refuse, and stores nothing. */
  validate(supplier: Supplier, delivery: ParsedDelivery, origin: DeliveryOrigin): Promise<Outcome>
}

/** Products that a refusal names: of all together it could be five times as large as the delivery. */
const MAX_NAMED = 100

export function createIntake(dependencies: IntakeDependencies): Intake {
  const { deliveries, clock, newId, idempotencyDays, productPointers } = dependencies

  const admit = (supplier: Supplier, delivery: ParsedDelivery, origin: DeliveryOrigin): NewDelivery => {
    checkAuthority(supplier, delivery, productPointers)
    const { status, orderId, payload, idempotencyKey: key } = delivery
    const receivedAt = clock.now()
    return {
      receiptId: newId(receivedAt),
      customerId: supplier.customer.id,
      orderId,
      status,
      receivedAt,
      payload,
      idempotency: key === undefined ? null : { key, notBefore: receivedAt - idempotencyDays * DAY_MILLISECONDS },
      origin,
    }
  }

  return {
    deliver: (supplier, delivery, origin, sequence) => deliveries.deliver(admit(supplier, delivery, origin), sequence),
    validate: async (supplier, delivery, origin) =>
      (await deliveries.findDuplicate(admit(supplier, delivery, origin))) ?? { ...delivery, duplicate: false },
  }
}

/** Denies by default: a rule must cover every product that is named, and a body that names none needs the rule `*`. */
function checkAuthority({ authority }: Supplier, delivery: ParsedDelivery, productPointers: readonly string[]): void {
  const { products, warnings } = delivery
  if (authority.everything) return
  if (products.length === 0) {
    const misspelled = warnings.filter(({ path }) => path !== '')
    throw new AppError(purchaseErrors.notAuthorized, {
      message: message('NO_PRODUCT_NAMED', { places: productPointers }),
      reason: message('NO_PRODUCT'),
      ...(misspelled.length > 0 && { problems: misspelled }),
    })
  }
  if (products.every(authority.covers)) return
  const refused = [...new Set(products.filter((product) => !authority.covers(product)))]
  const named = refused.slice(0, MAX_NAMED)
  throw new AppError(purchaseErrors.notAuthorized, {
    message: message('PRODUCTS_NOT_ALLOWED', { products: few(refused, MAX_NAMED) }),
    problems: named.map((product) => ({ path: '', message: message('PRODUCT_NOT_ALLOWED', { product }) })),
  })
}

/** Returns a function that counts a delivery. All series are there from the start. */
export function deliveryCounts(metrics: Metrics): (receipt: Receipt) => void {
  const deliveries = metrics.counter('teslim_deliveries_total', 'Deliveries that got a receipt, by Status.')
  const counts = STATUS_MEANINGS.map((_, status) => ({
    first: deliveries({ status: String(status), duplicate: 'false' }),
    duplicate: deliveries({ status: String(status), duplicate: 'true' }),
  }))
  return ({ status, duplicate }) => {
    const count = counts[status]?.[duplicate ? 'duplicate' : 'first']
    if (count !== undefined) count.value++
  }
}

export const receiptAnswer = (
  { receiptId, status, orderId, duplicate, receivedAt }: Receipt,
  { warnings }: ParsedDelivery,
) => ({
  ReceiptID: receiptId,
  Status: status,
  ...(orderId !== null && { OrderID: orderId }),
  Duplicate: duplicate,
  ReceivedAt: isoMilliseconds(receivedAt),
  ...warningsAnswer(warnings),
})

export const validationAnswer = ({ status, orderId, duplicate }: Outcome, { products, warnings }: ParsedDelivery) => ({
  ValidateOnly: true as const,
  Status: status,
  ...(orderId !== null && { OrderID: orderId }),
  Products: [...new Set(products)],
  Duplicate: duplicate,
  ...warningsAnswer(warnings),
})

const warningsAnswer = (warnings: readonly Problem[]) => warnings.length > 0 && { Warnings: warnings.map(inWords) }

export const inWords = ({ path, message }: Problem): string => `${path || 'The body'} ${textOf(message)}.`
