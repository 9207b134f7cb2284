import { type Caller, customerAskedFor } from '#src/customer/find-customer.ts'
import { AppError } from '#src/lib/app-error.ts'
import { isStorable } from '#src/lib/text.ts'
import { type DeliverySummary, type Order, type OrderPlace, type OrderState, withinBytes } from '#src/store/store.ts'
import type { ListQuery } from '../cursors.ts'
import { createProductFilter, MAX_READ } from '../payload-limits.ts'
import { purchaseErrors } from '../purchase.errors.ts'
import type { Reads } from '../reads.ts'
import { createFindOrder } from './find-order.ts'
import { createNewestOrders } from './newest-orders.ts'

export interface OrderListQuery extends ListQuery {
  readonly status?: number | undefined
  readonly product?: string | undefined
  readonly order?: 'id' | 'newest' | undefined
}

interface DetailQuery extends Pick<ListQuery, 'customer' | 'cursor' | 'limit'> {
  readonly withPayloads: boolean
}

export interface OrderDetail {
  readonly state: OrderState & { readonly customerId: string }
  readonly history: readonly (DeliverySummary & { readonly payload?: Uint8Array })[]
  readonly nextCursor: string | null
}

/** Orders that one request with a filter scans. */
const MAX_SCANNED = 250
/** Bytes of payload in one answer. */
const MAX_SENT_BYTES = 4 * 1024 * 1024

export type ReadBack = ReturnType<typeof createReadBack>
export type OrderList = Awaited<ReturnType<ReadBack['list']>>

export function createReadBack(reads: Reads) {
  const { deliveries, customers, cursors } = reads
  const withProduct = createProductFilter(reads)
  const listNewest = createNewestOrders(reads, withProduct)
  const findCustomerOf = createFindOrder(reads)

  return {
    /**
     * Lists orders by customer and order id, so that an order keeps its place however often it changes, or the newest first. The
     * orders with one id, at most one a customer, always come by customer. `nextCursor` is null at the end.
     */
    async list(caller: Caller, query: OrderListQuery) {
      const { status, orderId, product, from, to, cursor, limit } = query
      const customerId = await customerAskedFor(caller, query.customer, customers)
      if (query.order === 'newest' && orderId === undefined) {
        return listNewest({ filter: { customerId, status, from, to }, product, cursor, limit })
      }
      const purpose = ['list', customerId, status, orderId, product, from, to]
      const after = cursor === undefined ? null : await cursors.open<OrderPlace>(purpose, cursor)
      if (orderId !== undefined && !isStorable(orderId)) return { orders: [], nextCursor: null }
      const filter = { customerId, orderId, status, from, to }
      const filtered = [orderId, status, from, to].some((value) => value !== undefined)
      const maxRead = product === undefined ? limit : MAX_READ
      const page = await deliveries.orders(after, filter, { limit: maxRead, scan: filtered ? MAX_SCANNED : maxRead })
      const shown =
        product === undefined ? { found: page.orders, last: undefined } : await withProduct(page.orders, product, limit)
      const next = shown.last ? placeOf(shown.last) : page.next
      return { orders: shown.found, nextCursor: next && (await cursors.seal(purpose, next)) }
    },

    async detail(caller: Caller, orderId: string, query: DetailQuery): Promise<OrderDetail> {
      if (!isStorable(orderId)) missing(purchaseErrors.orderNotFound)
      const customerId = await findCustomerOf(caller, query.customer, orderId)
      const purpose = ['detail', customerId, orderId]
      const from = query.cursor === undefined ? undefined : await cursors.open<number>(purpose, query.cursor)
      const found = await deliveries.history(customerId, orderId, { from, limit: query.limit + 1 })
      // The first page takes the state from its own history, so that both agree whatever comes in meanwhile.
      const newest = from === undefined ? found.find(({ duplicate }) => !duplicate) : undefined
      const state =
        newest ?? (await deliveries.orderState(customerId, orderId)) ?? missing(purchaseErrors.orderNotFound)
      const fitting = found.slice(0, query.limit)
      const shown = query.withPayloads ? withinBytes(fitting, MAX_SENT_BYTES) : fitting
      const positions = shown.map(({ position }) => position)
      const payloads = query.withPayloads ? await deliveries.payloads(positions) : new Map()
      const next = found[shown.length]?.position
      return {
        state: { ...state, orderId, customerId },
        history: shown.map((each) => withPayload(each, payloads.get(each.position))),
        nextCursor: next === undefined ? null : await cursors.seal(purpose, next),
      }
    },
  }
}

/** Null for what was erased since it was found. */
const withPayload = (delivery: DeliverySummary, payload: Uint8Array | null | undefined) =>
  payload === null ? { ...delivery, erased: true } : { ...delivery, ...(payload && !delivery.erased && { payload }) }

const placeOf = ({ customerId, orderId }: Order): OrderPlace => ({ customerId, orderId })

function missing(definition: ConstructorParameters<typeof AppError>[0]): never {
  throw new AppError(definition)
}
