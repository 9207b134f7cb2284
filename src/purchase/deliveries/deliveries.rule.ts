import { type Caller, customerAskedFor, maySee } from '#src/customer/find-customer.ts'
import { AppError } from '#src/lib/app-error.ts'
import { readUuid } from '#src/lib/random.ts'
import { isStorable } from '#src/lib/text.ts'
import type { CustomerStore, Delivery, DeliveryStore, DeliverySummary, OrderPlace } from '#src/store/store.ts'
import type { Cursors, ListQuery, Purpose } from '../cursors.ts'
import { createProductFilter, MAX_READ } from '../payload-limits.ts'
import { purchaseErrors } from '../purchase.errors.ts'

export interface DeliveryListDependencies {
  readonly deliveries: DeliveryStore
  readonly customers: CustomerStore
  readonly cursors: Cursors
  readonly productsOf: (payload: Uint8Array) => readonly string[]
}

export interface DeliveryListQuery extends ListQuery {
  readonly status?: number | undefined
  readonly product?: string | undefined
  readonly duplicate?: boolean | undefined
}

export interface DeliveryList {
  readonly deliveries: readonly DeliverySummary[]
  /** Null at the end. */
  readonly nextCursor: string | null
}

/** A delivery of one order, or of any order: the page continues before it. */
type Place = number
/** Continues among the orders with one id: before a delivery of this customer's order, or after that order if it is 0. */
type PlaceAmongOrders = readonly [customerId: string, before: Place]

interface Page<Where> {
  readonly deliveries: readonly DeliverySummary[]
  /** Null at the end. */
  readonly next: Where | null
}

/** Deliveries that one request with a filter scans. */
const MAX_SCANNED = 250
/** The same without a customer: then they stand side by side. */
const MAX_SCANNED_OF_ALL = 2_000
/** Customers whose orders one request scans. */
const MAX_CUSTOMERS = 2_500
/** Orders of different customers whose histories one request reads. */
const MAX_ORDERS = 25

const NEWEST = Number.MAX_SAFE_INTEGER

/** Lists deliveries, newest first. */
export function createDeliveryList({ deliveries, customers, cursors, productsOf }: DeliveryListDependencies) {
  const withProduct = createProductFilter(deliveries, productsOf)

  /** Keeps the deliveries that name the product, at most `limit`; continues before the last one that it read. */
  const shownOf = async (page: Page<Place>, { product, limit }: DeliveryListQuery): Promise<Page<Place>> => {
    if (product === undefined) return page
    const { found, last } = await withProduct(page.deliveries, product, limit)
    return { deliveries: found, next: last?.position ?? page.next }
  }

  const allBefore = async (customerId: string | undefined, query: DeliveryListQuery, before: Place) => {
    const { status, duplicate, from, to, product } = query
    const maxRead = readLimit(query)
    const { early, end } = await deliveries.positionsWithin(query)
    const filtered = [status, duplicate, from, to, product].some((value) => value !== undefined)
    const maxScanned = customerId === undefined ? MAX_SCANNED_OF_ALL : MAX_SCANNED
    const bounds = { limit: maxRead, scan: filtered ? maxScanned : maxRead }
    const filter = { customerId, status, duplicate, from, to }
    const page = await deliveries.before(Math.min(before, end + 1), filter, bounds)
    return { deliveries: page.deliveries, next: page.position <= early ? null : page.position }
  }

  /** Reads the history of one order, which is far shorter than the list of all deliveries. */
  const ofOrder = async (
    customerId: string,
    orderId: string,
    query: DeliveryListQuery,
    before: Place,
  ): Promise<Page<Place>> => {
    const maxRead = readLimit(query)
    const from = before === NEWEST ? undefined : before
    const found = await deliveries.history(customerId, orderId, { from, limit: MAX_SCANNED + 1 })
    const scanned = found.filter(({ position }, index) => index < MAX_SCANNED && position !== from)
    const fitting = scanned.filter((each) => fits(each, query))
    const shown = fitting.slice(0, maxRead)
    if (fitting.length > maxRead) return { deliveries: shown, next: shown.at(-1)?.position ?? null }
    return { deliveries: shown, next: found.length > MAX_SCANNED ? (scanned.at(-1)?.position ?? null) : null }
  }

  /** Reads the orders with one id, at most one a customer, by customer. */
  const ofOrders = async (
    orderId: string,
    query: DeliveryListQuery,
    place: PlaceAmongOrders | undefined,
  ): Promise<Page<PlaceAmongOrders>> => {
    const shown: DeliverySummary[] = []
    let orders = 0
    const add = async (customerId: string, before: Place): Promise<PlaceAmongOrders | undefined> => {
      const rest = { ...query, limit: query.limit - shown.length }
      const history = await ofOrder(customerId, orderId, rest, before)
      const page = await shownOf(history, rest)
      orders++
      shown.push(...page.deliveries)
      if (page.next !== null) return [customerId, page.next]
      return shown.length === query.limit || orders === MAX_ORDERS || query.product !== undefined
        ? [customerId, 0]
        : undefined
    }
    if (place !== undefined && place[1] !== 0) {
      const next = await add(...place)
      if (next !== undefined) return { deliveries: shown, next }
    }
    const after: OrderPlace | null = place === undefined ? null : { customerId: place[0], orderId }
    const bounds = { limit: MAX_ORDERS, scan: MAX_CUSTOMERS }
    const page = await deliveries.orders(after, { orderId }, bounds)
    for (const [index, { customerId }] of page.orders.entries()) {
      const next = await add(customerId, NEWEST)
      const isLast = index === page.orders.length - 1 && page.next === null && next?.[1] === 0
      if (next !== undefined) return { deliveries: shown, next: isLast ? null : next }
    }
    return { deliveries: shown, next: page.next && [page.next.customerId, 0] }
  }

  return {
    /**
     * `route` keeps the cursors of different addresses apart. The deliveries of orders with one id come by customer unless one
     * customer is named.
     */
    async list(route: string, caller: Caller, query: DeliveryListQuery): Promise<DeliveryList> {
      const { status, orderId, product, duplicate, from, to, cursor } = query
      const customerId = await customerAskedFor(caller, query.customer, customers)
      const filters = [status, orderId, product, from, to]
      const purpose: Purpose = [route, customerId, ...filters, ...(duplicate === undefined ? [] : [String(duplicate)])]
      const place = cursor === undefined ? undefined : await cursors.open<Place | PlaceAmongOrders>(purpose, cursor)
      if (orderId !== undefined && !isStorable(orderId)) return { deliveries: [], nextCursor: null }
      const before = typeof place === 'number' ? place : NEWEST
      const page: Page<Place | PlaceAmongOrders> =
        orderId === undefined
          ? await shownOf(await allBefore(customerId, query, before), query)
          : customerId === undefined
            ? await ofOrders(orderId, query, typeof place === 'number' ? undefined : place)
            : await shownOf(await ofOrder(customerId, orderId, query, before), query)
      const nextCursor = page.next === null ? null : await cursors.seal(purpose, page.next)
      return { deliveries: page.deliveries, nextCursor }
    },
  }
}

/** Finds deliveries by their receipts. Somebody else's is refused like one that does not exist. */
export const createFindDelivery =
  (deliveries: Pick<DeliveryStore, 'findByReceipt'>) =>
  async (caller: Caller, receiptId: string): Promise<Delivery> => {
    const id = readUuid(receiptId)
    const found = id && (await deliveries.findByReceipt(id))
    if (found && maySee(caller, found.customerId)) return found
    throw new AppError(purchaseErrors.deliveryNotFound)
  }

const readLimit = ({ product, limit }: DeliveryListQuery): number => (product === undefined ? limit : MAX_READ)

const fits = ({ status, duplicate, receivedAt }: DeliverySummary, query: DeliveryListQuery): boolean =>
  (query.status === undefined || status === query.status) &&
  (query.duplicate === undefined || duplicate === query.duplicate) &&
  receivedAt >= (query.from ?? 0) &&
  receivedAt < (query.to ?? Number.POSITIVE_INFINITY)
