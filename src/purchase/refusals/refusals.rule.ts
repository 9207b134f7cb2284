import { type Caller, customerAskedFor, maySee } from '#src/customer/find-customer.ts'
import { AppError } from '#src/lib/app-error.ts'
import type { Text } from '#src/lib/messages/message.ts'
import { readUuid } from '#src/lib/random.ts'
import { isStorable } from '#src/lib/text.ts'
import type { Refusal, RefusalFilter, Store } from '#src/store/store.ts'
import type { ListQuery, Purpose } from '../cursors.ts'
import { purchaseErrors } from '../purchase.errors.ts'
import type { Reads } from '../reads.ts'

interface RefusalQuery extends ListQuery {
  readonly code?: string | undefined
  readonly requestId?: string | undefined
}

/** Refusals that one request with a filter scans. */
const MAX_SCANNED = 250

const MESSAGES = new Map<string, Text>(Object.values(purchaseErrors).map(({ code, message }) => [code, message]))

/** The audit log has no message for a delivery without a customer. */
export const withMessage = (refusal: Refusal): Refusal => ({
  ...refusal,
  message: refusal.message || (MESSAGES.get(refusal.errorCode) ?? ''),
})

export type RefusalReads = ReturnType<typeof createRefusalReads>
export type RefusalPage = Awaited<ReturnType<RefusalReads['list']>>

export function createRefusalReads({
  refused,
  customers,
  cursors,
}: Pick<Store, 'refused'> & Omit<Reads, 'productsOf'>) {
  return {
    /**
     * Lists refused deliveries, newest first. `route` keeps the cursors of different addresses apart. Those whose API key is unknown
     * have no customer: only operators see them. `nextCursor` is null at the end.
     */
    async list(route: string, caller: Caller, query: RefusalQuery) {
      const { orderId, code, requestId, from, to, cursor, limit } = query
      const customerId = await customerAskedFor(caller, query.customer, customers)
      const purpose: Purpose = [route, customerId, orderId, code, requestId, from, to]
      const before = cursor === undefined ? undefined : await cursors.open<string>(purpose, cursor)
      const texts = [orderId, code, requestId].filter((text) => text !== undefined)
      if (!texts.every(isStorable)) return { refusals: [], nextCursor: null }
      const filter: RefusalFilter = { customerId, orderId, errorCode: code, requestId, before, from, to }
      const scan = texts.length > 0 ? MAX_SCANNED : limit
      const { refusals, next } = await refused.refusals(filter, { limit, scan })
      return {
        refusals: refusals.map(withMessage),
        nextCursor: next === null ? null : await cursors.seal(purpose, next),
      }
    },

    async find(caller: Caller, refusalId: string): Promise<Refusal> {
      const idPrefix = readUuid(refusalId)
      const found = idPrefix && (await refused.refusals({ idPrefix }, { limit: 1, scan: 1 })).refusals[0]
      if (!found || !maySee(caller, found.customerId)) throw new AppError(purchaseErrors.refusalNotFound)
      return withMessage(found)
    },

    /** Returns the body of a refusal, if it was kept. */
    async payload(caller: Caller, refusalId: string): Promise<Uint8Array> {
      const id = readUuid(refusalId)
      const found = id && (await refused.find(id))
      if (!found || !maySee(caller, found.customerId)) throw new AppError(purchaseErrors.refusalNotFound)
      return found.payload
    },
  }
}
