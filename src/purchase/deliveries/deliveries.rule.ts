import { type Caller, customerAskedFor, maySee } from '#src/customer/find-customer.ts'
import { AppError } from '#src/lib/app-error.ts'
import { type Network, networkText } from '#src/lib/net/network.ts'
import { readUuid } from '#src/lib/random.ts'
import { isStorable } from '#src/lib/text.ts'
import type { Delivery, DeliveryStore, DeliverySummary, KeptOrigin, OrderPlace, Store } from '#src/store/store.ts'
import type { ListQuery, Purpose } from '../cursors.ts'
import { createFindKey, isFrom, type OriginFilter, periodWithin, storedFilter } from '../origin-filter.ts'
import { createProductFilter, MAX_READ } from '../payload-limits.ts'
import { purchaseErrors } from '../purchase.errors.ts'
import type { Reads } from '../reads.ts'

interface Filters extends ListQuery {
  readonly status?: number | undefined
  readonly product?: string | undefined
  readonly duplicate?: boolean | undefined
  readonly network?: Network | undefined
}

interface DeliveryListQuery extends Filters {
  /** The id of an API key. */
  readonly key?: string | undefined
}

type FoundQuery = Filters & OriginFilter

export interface DeliveryList {
  readonly deliveries: readonly DeliverySummary[]
  /** Null at the end. */
  readonly nextCursor: string | null
  /** For whoever sees all, by position. */
  readonly origins: ReadonlyMap<number, KeptOrigin> | undefined
  /** How far a search for a key or an address has come, if it went through all deliveries. */
  readonly scanned: Scanned | undefined
}

/** How many positions a search has gone back through, and how many there are. */
export interface Scanned {
  readonly done: number
  readonly all: number
}

/** A delivery of one order, or of any order: the page continues before it. */
type Place = number
/** Continues among the orders with one id: before a delivery of this customer's order, or after that order if it is 0. */
type PlaceAmongOrders = readonly [customerId: string, before: Place]

interface Page<Where> {
  readonly deliveries: readonly DeliverySummary[]
  /** Null at the end. */
  readonly next: Where | null
  /** The position before which nothing is wanted. */
  readonly early?: number
}

/** Deliveries that one request with a filter scans. */
const MAX_SCANNED = 250
/** The same without a customer: then they stand side by side. */
const MAX_SCANNED_OF_ALL = 2_000
/** The same for an operator who looks for a key or an address, which may be among millions. */
const MAX_SCANNED_FOR_ORIGIN = 10_000
/** Deliveries whose addresses one request reads. */
const MAX_ADDRESSES = 500
/** Customers whose orders one request scans. */
const MAX_CUSTOMERS = 2_500
/** Orders of different customers whose histories one request reads. */
const MAX_ORDERS = 25

const NEWEST = Number.MAX_SAFE_INTEGER

/** Lists deliveries, newest first. */
export function createDeliveryList(reads: Reads & Pick<Store, 'apiKeys'>) {
  const { deliveries, customers, cursors } = reads
  const withProduct = createProductFilter(reads)
  const findKey = createFindKey(reads.apiKeys)

  const originsOf = (some: readonly DeliverySummary[]) => deliveries.origins(some.map(({ position }) => position))

  /** Keeps the deliveries from where they are wanted. */
  const withOrigin = async (some: readonly DeliverySummary[], query: FoundQuery) => {
    if (query.key === undefined && query.network === undefined) return some
    const origins = await originsOf(some)
    return some.filter(({ position }) => isFrom(origins.get(position), query))
  }

  /** Keeps the deliveries that came from there and name the product, at most `limit`; continues before the last one that it read. */
  const shownOf = async (page: Page<Place>, query: FoundQuery): Promise<Page<Place>> => {
    const { product, limit } = query
    const wanted = await withOrigin(page.deliveries, query)
    if (product !== undefined) {
      const { found, last } = await withProduct(wanted, product, limit)
      return { ...page, deliveries: found, next: last?.position ?? page.next }
    }
    const shown = wanted.slice(0, limit)
    return { ...page, deliveries: shown, next: wanted.length > limit ? (shown.at(-1)?.position ?? null) : page.next }
  }

  const allBefore = async (customerId: string | undefined, caller: Caller, query: FoundQuery, before: Place) => {
    const { status, duplicate, from, to, product, key, network } = query
    const maxRead = readLimit(query)
    const { early, end } = await deliveries.positionsWithin(periodWithin(query, key))
    const filtered = [status, duplicate, from, to, product, key, network].some((value) => value !== undefined)
    const maxScanned = customerId === undefined ? MAX_SCANNED_OF_ALL : MAX_SCANNED
    const isWide = caller.seesAll && (key !== undefined || network !== undefined)
    const bounds = { limit: maxRead, scan: filtered ? (isWide ? MAX_SCANNED_FOR_ORIGIN : maxScanned) : maxRead }
    const filter = { customerId, status, duplicate, from, to, ...storedFilter(query) }
    const page = await deliveries.before(Math.min(before, end + 1), filter, bounds)
    return { deliveries: page.deliveries, next: page.position <= early ? null : page.position, early }
  }

  const scannedOf = async ({ next, early }: Page<Place | PlaceAmongOrders>): Promise<Scanned | undefined> => {
    if (early === undefined || Array.isArray(next)) return undefined
    const last = await deliveries.lastPosition()
    return { done: last - Number(next ?? early), all: last - early }
  }

  /** Reads the history of one order, which is far shorter than the list of all deliveries. */
  const ofOrder = async (
    customerId: string,
    orderId: string,
    query: FoundQuery,
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
    query: FoundQuery,
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

  const NOTHING: DeliveryList = { deliveries: [], nextCursor: null, origins: undefined, scanned: undefined }

  return {
    /**
     * `route` keeps the cursors of different addresses apart. The deliveries of orders with one id come by customer unless one
     * customer is named.
     */
    async list(route: string, caller: Caller, { key: keyId, ...filters }: DeliveryListQuery): Promise<DeliveryList> {
      const { status, orderId, product, duplicate, network, from, to, cursor } = filters
      const asked = await customerAskedFor(caller, filters.customer, customers)
      const key = keyId === undefined ? undefined : await findKey(caller, keyId)
      const query = { ...filters, key }
      const customerId = asked ?? key?.customerId
      const more = [
        duplicate === undefined ? [] : [String(duplicate)],
        key ? [key.id] : [],
        network ? [networkText(network)] : [],
      ]
      const purpose: Purpose = [route, customerId, status, orderId, product, from, to, ...more.flat()]
      const place = cursor === undefined ? undefined : await cursors.open<Place | PlaceAmongOrders>(purpose, cursor)
      if (orderId !== undefined && !isStorable(orderId)) return NOTHING
      if (key !== undefined && key.customerId !== customerId) return NOTHING
      const before = typeof place === 'number' ? place : NEWEST
      const page: Page<Place | PlaceAmongOrders> =
        orderId === undefined
          ? await shownOf(await allBefore(customerId, caller, query, before), query)
          : customerId === undefined
            ? await ofOrders(orderId, query, typeof place === 'number' ? undefined : place)
            : await shownOf(await ofOrder(customerId, orderId, query, before), query)
      const nextCursor = page.next === null ? null : await cursors.seal(purpose, page.next)
      if (!caller.seesAll) return { ...NOTHING, deliveries: page.deliveries, nextCursor }
      const origins = await originsOf(page.deliveries)
      const scanned = key || network ? await scannedOf(page) : undefined
      return { deliveries: page.deliveries, nextCursor, origins, scanned }
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

const readLimit = ({ product, network, limit }: FoundQuery): number => {
  if (product !== undefined) return MAX_READ
  return network === undefined ? limit : MAX_ADDRESSES
}

const fits = ({ status, duplicate, receivedAt }: DeliverySummary, query: FoundQuery): boolean =>
  (query.status === undefined || status === query.status) &&
  (query.duplicate === undefined || duplicate === query.duplicate) &&
  receivedAt >= (query.from ?? 0) &&
  receivedAt < (query.to ?? Number.POSITIVE_INFINITY)
