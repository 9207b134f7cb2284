import { AppError } from '#src/lib/app-error.ts'
import type {
  CustomerStore,
  Delivery,
  DeliveryStore,
  DeliverySummary,
  Order,
  OrderPlace,
  OrderState,
} from '#src/store/store.ts'
import { type Caller, customerAskedFor, maySee } from '../caller.ts'
import type { Cursors } from '../cursors.ts'
import { purchaseErrors } from '../purchase.errors.ts'
import { withinBytes } from '../within-bytes.ts'

export interface ReadBackDependencies {
  readonly deliveries: DeliveryStore
  readonly customers: CustomerStore
  readonly cursors: Cursors
  readonly productsOf: (payload: Uint8Array) => readonly string[]
}

export interface ListQuery {
  readonly customer?: string | undefined
  readonly status?: number | undefined
  readonly orderId?: string | undefined
  readonly product?: string | undefined
  /** Milliseconds since 1970, inclusive. */
  readonly from?: number | undefined
  /** Milliseconds since 1970, exclusive. */
  readonly to?: number | undefined
  readonly cursor?: string | undefined
  readonly limit: number
}

export interface OrderList {
  readonly orders: readonly Order[]
  /** Null at the end. */
  readonly nextCursor: string | null
}

export interface DetailQuery {
  readonly customer?: string | undefined
  readonly cursor?: string | undefined
  readonly limit: number
  readonly withPayloads: boolean
}

export interface OrderDetail {
  readonly state: OrderState & { readonly customerId: string }
  readonly history: readonly (DeliverySummary & { readonly payload?: Uint8Array })[]
  readonly nextCursor: string | null
}

/** Orders that one request with a filter looks at. */
const MOST_LOOKED_AT = 250
/** Payloads that one request reads on the request thread to find a product. */
const MOST_READ = 125
const MOST_READ_BYTES = 256 * 1024
/** Bytes of payload in one answer. */
const MOST_SENT_BYTES = 4 * 1024 * 1024

export type ReadBack = ReturnType<typeof createReadBack>

export function createReadBack({ deliveries, customers, cursors, productsOf }: ReadBackDependencies) {
  /** Reads payloads up to a limit of bytes and keeps the orders whose payload names the product. */
  const withProduct = async (product: string, limit: number, page: { orders: Order[]; next: OrderPlace | null }) => {
    const read = withinBytes(page.orders, MOST_READ_BYTES)
    const positions = read.map(({ position }) => position)
    const payloads = await deliveries.payloads(positions, product)
    const orders: Order[] = []
    for (const [index, order] of read.entries()) {
      const payload = payloads.get(order.position)
      if (payload !== undefined && productsOf(payload).includes(product)) orders.push(order)
      const last = index === page.orders.length - 1
      if (orders.length === limit || index === read.length - 1)
        return { orders, next: last ? page.next : placeOf(order) }
    }
    return { orders, next: page.next }
  }

  const findCustomerOf = async (caller: Caller, who: string | undefined, orderId: string): Promise<string> => {
    const customerId = await customerAskedFor(caller, who, customers)
    if (customerId !== undefined) return customerId
    const found: string[] = []
    for (let after: OrderPlace | null = null; ; ) {
      const { orders, next } = await deliveries.orders(after, { orderId }, { most: 2, look: MOST_LOOKED_AT })
      found.push(...orders.map(({ customerId }) => customerId))
      if (found.length > 1) throw new AppError(purchaseErrors.orderAmbiguous)
      if (next === null) return found[0] ?? missing(purchaseErrors.orderNotFound)
      after = next
    }
  }

  const findDelivery = async (caller: Caller, receiptId: string): Promise<Delivery> => {
    const found = UUID.test(receiptId) ? await deliveries.findByReceipt(receiptId) : undefined
    if (found === undefined || !maySee(caller, found.customerId)) missing(purchaseErrors.deliveryNotFound)
    return found
  }

  return {
    /** Lists orders by customer and order id, so that an order keeps its place however often it changes. */
    async list(caller: Caller, query: ListQuery): Promise<OrderList> {
      const { status, orderId, product, from, to, cursor, limit } = query
      const customerId = await customerAskedFor(caller, query.customer, customers)
      const purpose = ['list', customerId, status, orderId, product, from, to]
      const after = cursor === undefined ? null : await cursors.open<OrderPlace>(purpose, cursor)
      if (orderId !== undefined && !isStorable(orderId)) return { orders: [], nextCursor: null }
      const filter = { customerId, orderId, status, from, to }
      const filtered = [orderId, status, from, to].some((value) => value !== undefined)
      const most = product === undefined ? limit : MOST_READ
      const page = await deliveries.orders(after, filter, { most, look: filtered ? MOST_LOOKED_AT : most })
      const { orders, next } = product === undefined ? page : await withProduct(product, limit, page)
      return { orders, nextCursor: next && (await cursors.seal(purpose, next)) }
    },

    async detail(caller: Caller, orderId: string, query: DetailQuery): Promise<OrderDetail> {
      if (!isStorable(orderId)) missing(purchaseErrors.orderNotFound)
      const customerId = await findCustomerOf(caller, query.customer, orderId)
      const purpose = ['detail', customerId, orderId]
      const from = query.cursor === undefined ? undefined : await cursors.open<number>(purpose, query.cursor)
      const found = await deliveries.history(customerId, orderId, { from, most: query.limit + 1 })
      // The first page takes the state from its own history, so that both agree whatever comes in meanwhile.
      const newest = from === undefined ? found.find(({ duplicate }) => !duplicate) : undefined
      const state =
        newest ?? (await deliveries.orderState(customerId, orderId)) ?? missing(purchaseErrors.orderNotFound)
      const fitting = found.slice(0, query.limit)
      const shown = query.withPayloads ? withinBytes(fitting, MOST_SENT_BYTES) : fitting
      const payloads = query.withPayloads ? await deliveries.payloads(shown.map(({ position }) => position)) : undefined
      const next = found[shown.length]?.position
      return {
        state: { ...state, orderId, customerId },
        history: shown.map((each) => ({ ...each, ...(!each.erased && payloadOf(payloads?.get(each.position))) })),
        nextCursor: next === undefined ? null : await cursors.seal(purpose, next),
      }
    },

    delivery: findDelivery,
  }
}

const payloadOf = (payload: Uint8Array | undefined) => payload && { payload }

const placeOf = ({ customerId, orderId }: Order): OrderPlace => ({ customerId, orderId })

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** NUL and lone surrogates are stored with their escapes, so no stored id contains them. */
const isStorable = (orderId: string): boolean => orderId.isWellFormed() && !orderId.includes('\0')

function missing(definition: ConstructorParameters<typeof AppError>[0]): never {
  throw new AppError(definition)
}
