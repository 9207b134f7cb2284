import { AppError } from '#src/lib/app-error.ts'
import type { Refusal, RefusedStore } from '#src/store/store.ts'
import type { Cursors } from '../cursors.ts'
import { purchaseErrors } from '../purchase.errors.ts'

export interface SupplierRefusalsDependencies {
  readonly refused: RefusedStore
  readonly cursors: Cursors
}

export interface RefusalQuery {
  readonly orderId?: string | undefined
  readonly code?: string | undefined
  readonly requestId?: string | undefined
  /** Milliseconds since 1970, inclusive. */
  readonly from?: number | undefined
  /** Milliseconds since 1970, exclusive. */
  readonly to?: number | undefined
  readonly cursor?: string | undefined
  readonly limit: number
}

export interface RefusalPage {
  readonly refusals: readonly Refusal[]
  /** Null at the end. */
  readonly nextCursor: string | null
}

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Refusals that one request with a filter looks at. */
const MOST_LOOKED_AT = 125

export type SupplierRefusals = ReturnType<typeof createSupplierRefusals>

export function createSupplierRefusals({ refused, cursors }: SupplierRefusalsDependencies) {
  return {
    /** Lists what was refused of a customer's deliveries, newest first. */
    async list(customerId: string, query: RefusalQuery): Promise<RefusalPage> {
      const { orderId, code, requestId, from, to, cursor, limit } = query
      const purpose = ['refusals', customerId, orderId, code, requestId, from, to]
      const before = cursor === undefined ? undefined : await cursors.open<string>(purpose, cursor)
      const filtered = orderId !== undefined || code !== undefined || requestId !== undefined
      const look = filtered ? MOST_LOOKED_AT : limit
      const found = await refused.ofCustomer(customerId, { before, from, to }, look + 1)
      const matches = found
        .slice(0, look)
        .filter(
          (each) =>
            (orderId === undefined || each.orderId === orderId) &&
            (code === undefined || each.errorCode === code) &&
            (requestId === undefined || each.requestId === requestId),
        )
      const refusals = matches.slice(0, limit)
      const last = matches.length > limit ? refusals.at(-1) : found.length > look ? found[look - 1] : undefined
      return { refusals, nextCursor: last === undefined ? null : await cursors.seal(purpose, last.refusalId) }
    },

    /** Returns the body of a refusal, if it was kept. */
    async payload(customerId: string, refusalId: string): Promise<Uint8Array> {
      const found = UUID.test(refusalId) ? await refused.find(refusalId.toLowerCase()) : undefined
      if (found?.customerId !== customerId) throw new AppError(purchaseErrors.refusalNotFound)
      return found.payload
    },
  }
}
