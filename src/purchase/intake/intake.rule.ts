import type { Account } from '#src/customer/accounts.ts'
import { AppError } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import { scanJson } from '#src/lib/json/read-json.ts'
import { invalidRequest } from '#src/lib/request/invalid-request.ts'
import type { DeliveryStore, NewDelivery, Receipt } from '#src/store/store.ts'
import type { DeliveryFacts, DeliveryReader } from '../delivery-body.ts'
import { purchaseErrors } from '../purchase.errors.ts'

export interface IntakeDependencies {
  readonly deliveries: DeliveryStore
  readonly clock: Clock
  readonly newId: (nowMilliseconds: number) => string
  readonly idempotencyDays: number
  /** Named to suppliers whose deliveries name no product. */
  readonly productPointers: readonly string[]
  readonly reader: DeliveryReader
}

export interface IncomingDelivery extends DeliveryFacts {
  readonly payload: Uint8Array
  readonly idempotencyKey: string | undefined
}

/** What a delivery would be answered with, apart from its receipt. */
export interface Foresight {
  readonly status: number
  readonly orderId: string | null
  readonly duplicate: boolean
}

/** The request that brings a delivery. */
export interface Sender {
  /** The id of the request. */
  readonly id: string
  /** The client's address. */
  readonly address: string
}

/** The way of every delivery: `read`, then `deliver` or, to validate it only, `foresee`. */
export interface Intake {
  /** Reads a body and its idempotency key; throws the refusal if either is not valid. `keyPath` is where the key was sent. */
  read(body: unknown, idempotencyKey: string | undefined, keyPath?: string): IncomingDelivery
  /** Checks the authority of the account, then stores the delivery. */
  deliver(account: Account, delivery: IncomingDelivery, sender: Sender): Promise<Receipt>
  /** Refuses what `deliver` would refuse, and stores nothing. */
  foresee(account: Account, delivery: IncomingDelivery, sender: Sender): Promise<Foresight>
}

export const IDEMPOTENCY_KEY = /^[\x21-\x7e]{1,255}$/

/** Products that a refusal names: of all together it could be five times as large as the delivery. */
const MAX_NAMED = 100

const DAY_MILLISECONDS = 86_400_000

export function createIntake(dependencies: IntakeDependencies): Intake {
  const { deliveries, clock, newId, idempotencyDays, productPointers, reader } = dependencies

  /** The last step before the store. */
  const admit = (account: Account, delivery: IncomingDelivery, sender: Sender): NewDelivery => {
    checkAuthority(account, delivery, productPointers)
    const { status, orderId, payload, idempotencyKey: key } = delivery
    const receivedAt = clock.now()
    return {
      receiptId: newId(receivedAt),
      customerId: account.customer.id,
      orderId,
      status,
      receivedAt,
      payload,
      idempotency: key === undefined ? null : { key, notBefore: receivedAt - idempotencyDays * DAY_MILLISECONDS },
      origin: { keyId: account.key.id, address: sender.address, requestId: sender.id },
    }
  }

  return {
    read(body, idempotencyKey, keyPath = 'headers/idempotency-key') {
      const { status, orderId, products, oddities } = reader.facts(scanJson(body, reader.scan))
      if (idempotencyKey !== undefined && !IDEMPOTENCY_KEY.test(idempotencyKey)) {
        const message = 'must be 1 to 255 visible ASCII characters'
        throw invalidRequest([{ path: keyPath, message }])
      }
      return { status, orderId, products, oddities, payload: body as Buffer, idempotencyKey }
    },
    deliver: (account, delivery, sender) => deliveries.deliver(admit(account, delivery, sender)),
    foresee: async (account, delivery, sender) =>
      (await deliveries.foresee(admit(account, delivery, sender))) ?? { ...delivery, duplicate: false },
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
  const named = refused.slice(0, MAX_NAMED)
  const more = refused.length > MAX_NAMED ? `, and ${refused.length - MAX_NAMED} more` : ''
  throw new AppError(purchaseErrors.notAuthorized, {
    message: `This API key may not deliver: ${named.join(', ')}${more}.`,
    problems: named.map((product) => ({ path: '', message: `product ${product} is not allowed` })),
  })
}
