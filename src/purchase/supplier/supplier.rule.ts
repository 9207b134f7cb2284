import type { DeliveryStore, DeliverySummary } from '#src/store/store.ts'
import type { Cursors } from '../cursors.ts'
import { createFindDelivery, isStorable } from '../find-delivery.ts'
import { type Period, positionsWithin } from '../period.ts'
import { createProductFilter, MOST_READ } from '../with-product.ts'

export interface SupplierReadsDependencies {
  readonly deliveries: DeliveryStore
  readonly cursors: Cursors
  readonly productsOf: (payload: Uint8Array) => readonly string[]
}

export interface SupplierQuery extends Period {
  readonly status?: number | undefined
  readonly orderId?: string | undefined
  readonly product?: string | undefined
  readonly cursor?: string | undefined
  readonly limit: number
}

interface DeliveryPage {
  readonly deliveries: readonly DeliverySummary[]
  /** The cursor's position of the next page; 0 at the end. */
  readonly position: number
}

/** Deliveries that one request with a filter looks at. */
const MOST_LOOKED_AT = 250

/** What a supplier reads of what its customer has delivered. */
export function createSupplierReads({ deliveries, cursors, productsOf }: SupplierReadsDependencies) {
  const withProduct = createProductFilter(deliveries, productsOf)

  const allBefore = async (customerId: string, query: SupplierQuery, before: number, most: number) => {
    const { status, from, to, product } = query
    const { early, end } = await positionsWithin(query, deliveries)
    const filtered = [status, from, to, product].some((value) => value !== undefined)
    const bounds = { most, look: filtered ? MOST_LOOKED_AT : most }
    const page = await deliveries.before(Math.min(before, end + 1), { customerId, status, from, to }, bounds)
    return { ...page, position: page.position <= early ? 0 : page.position }
  }

  /** Reads the history of one order, which is far shorter than the list of all deliveries. */
  const ofOrder = async (customerId: string, orderId: string, query: SupplierQuery, before: number, most: number) => {
    const from = before === Number.MAX_SAFE_INTEGER ? undefined : before
    const found = await deliveries.history(customerId, orderId, { from, most: MOST_LOOKED_AT + 1 })
    const looked = found.filter(({ position }, index) => index < MOST_LOOKED_AT && position !== from)
    const fitting = looked.filter((each) => fits(each, query))
    const shown = fitting.slice(0, most)
    if (fitting.length > most) return { deliveries: shown, position: shown.at(-1)?.position ?? 0 }
    return { deliveries: shown, position: found.length > MOST_LOOKED_AT ? (looked.at(-1)?.position ?? 0) : 0 }
  }

  return {
    /** Lists deliveries, newest first. */
    async list(customerId: string, query: SupplierQuery) {
      const { status, orderId, product, from, to, cursor, limit } = query
      const purpose = ['supplier', customerId, status, orderId, product, from, to]
      const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : await cursors.open<number>(purpose, cursor)
      if (orderId !== undefined && !isStorable(orderId)) return { deliveries: [], nextCursor: null }
      const most = product === undefined ? limit : MOST_READ
      const page: DeliveryPage =
        orderId === undefined
          ? await allBefore(customerId, query, before, most)
          : await ofOrder(customerId, orderId, query, before, most)
      const shown =
        product === undefined
          ? { found: page.deliveries, last: undefined }
          : await withProduct(page.deliveries, product, limit)
      const next = shown.last?.position ?? page.position
      return { deliveries: shown.found, nextCursor: next === 0 ? null : await cursors.seal(purpose, next) }
    },

    delivery: createFindDelivery(deliveries),
  }
}

const fits = ({ status, receivedAt }: DeliverySummary, query: SupplierQuery): boolean =>
  (query.status === undefined || status === query.status) &&
  receivedAt >= (query.from ?? 0) &&
  receivedAt < (query.to ?? Number.POSITIVE_INFINITY)
