import { AppError } from '#src/lib/app-error.ts'
import type { Delivery, DeliveryStore } from '#src/store/store.ts'
import { type Caller, maySee } from './caller.ts'
import { purchaseErrors } from './purchase.errors.ts'

export type FindDelivery = (caller: Caller, receiptId: string) => Promise<Delivery>

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Looks up receipts. Somebody else's is refused like one that does not exist. */
export const createFindDelivery =
  (deliveries: DeliveryStore): FindDelivery =>
  async (caller, receiptId) => {
    const found = UUID.test(receiptId) ? await deliveries.findByReceipt(receiptId) : undefined
    if (found !== undefined && maySee(caller, found.customerId)) return found
    throw new AppError(purchaseErrors.deliveryNotFound)
  }

/** NUL and lone surrogates are stored with their escapes, so no stored id contains them. */
export const isStorable = (orderId: string): boolean => orderId.isWellFormed() && !orderId.includes('\0')
