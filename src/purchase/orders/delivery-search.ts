import { customerAskedFor, OPERATOR } from '#src/customer/find-customer.ts'
import { type DeliverySummary, type Filter, type KeptOrigin, withinBytes } from '#src/store/store.ts'
import type { ListQuery } from '../cursors.ts'
import { createFeedPlaces, type FeedPlace, placeAt, placesFrom } from '../feed-place.ts'
import { isFrom, type OriginFilter, periodWithin, storedFilter } from '../origin-filter.ts'
import { withPayloads } from '../payload-limits.ts'
import type { Reads } from '../reads.ts'

export interface DeliveryQuery extends OriginFilter, Omit<ListQuery, 'cursor' | 'limit'> {
  readonly product?: string | undefined
  readonly status?: number | undefined
  /** A cursor of this search or of the feed, after which to search. */
  readonly after?: string | undefined
  readonly withPayload: boolean
}

export interface FoundDelivery {
  readonly delivery: DeliverySummary
  /** Undefined if it is not known. */
  readonly origin: KeptOrigin | undefined
  readonly payload: Uint8Array | undefined
}

interface FoundPage {
  readonly found: readonly DeliverySummary[]
  /** Throws CURSOR_PURGED if a purge may have removed some of what was asked for. Called after payloads were read. */
  confirm(): Promise<unknown>
}

/** Hears how many positions a search has gone through, and how many there are. */
export type OnScanned = (done: number, all: number) => void

export type DeliverySearch = ReturnType<typeof createDeliverySearch>

const SCANNED_AT_ONCE = 20_000
const FOUND_AT_ONCE = 500
const BYTES_AT_ONCE = 4 * 1024 * 1024

/** Searches all deliveries for operators. */
export function createDeliverySearch(reads: Reads) {
  const { deliveries, purges, customers, productsOf } = reads
  const places = createFeedPlaces(reads)

  /** Returns the place of whoever has read up to a position. */
  let readTo: ((position: number) => FeedPlace) | undefined

  const confirm = async (): Promise<void> => undefined

  /** Reads the history of the order, which is far shorter than the list of all deliveries. */
  const byOrder = async (customerId: string, orderId: string, back: boolean): Promise<FoundPage> => {
    const history = await deliveries.history(customerId, orderId)
    return { found: back ? history : history.reverse(), confirm }
  }

  async function* scan(
    query: DeliveryQuery,
    filter: Filter,
    scope: string | null,
    onScanned: OnScanned,
  ): AsyncGenerator<FoundPage> {
    const { after } = query
    let place = after === undefined ? await places.first() : await places.placeOf(scope, after)
    if (after !== undefined) await places.refuseMissing(place, scope)
    const { early, end } = await deliveries.positionsWithin(periodWithin(query, query.key))
    const shown = Math.min(end, await deliveries.lastPosition())
    const bounds = { limit: FOUND_AT_ONCE, scan: SCANNED_AT_ONCE }
    for (let position = Math.max(place.position, early); position < end; ) {
      const page = await deliveries.after(position, filter, bounds)
      const begun = place
      const confirm = async (): Promise<void> => {
        if (!query.withPayload) return
        readTo = placesFrom(begun, await places.refuseMissing(begun, scope))
      }
      await confirm()
      if (page.position === position) return
      yield { found: page.deliveries, confirm }
      if (readTo !== undefined) place = readTo(page.position)
      position = page.position
      onScanned(position, shown)
    }
  }

  async function* scanBack(query: DeliveryQuery, filter: Filter, onScanned: OnScanned): AsyncGenerator<FoundPage> {
    const { early, end } = await deliveries.positionsWithin(periodWithin(query, query.key))
    const last = Math.min(end, await deliveries.lastPosition())
    // Most often the newest deliveries are enough.
    let scan = FOUND_AT_ONCE
    for (let position = last + 1; position > early; scan = Math.min(4 * scan, SCANNED_AT_ONCE)) {
      const page = await deliveries.before(position, filter, { limit: FOUND_AT_ONCE, scan })
      yield { found: page.deliveries, confirm }
      position = page.position
      onScanned(last - position, last - early)
    }
  }

  async function* readPayloads(
    { found, confirm }: FoundPage,
    product: string | undefined,
  ): AsyncGenerator<Omit<FoundDelivery, 'origin'>> {
    for (let rest = found; rest.length > 0; ) {
      const some = withinBytes(rest, BYTES_AT_ONCE)
      const positions = some.map(({ position }) => position)
      const payloads = await deliveries.payloads(positions, product)
      await confirm()
      yield* withPayloads(some, payloads)
      rest = rest.slice(some.length)
    }
  }

  /** Finds in the order of commits, or the newest first. */
  async function* find(
    query: DeliveryQuery,
    onScanned: OnScanned = () => undefined,
    back = false,
  ): AsyncGenerator<FoundDelivery> {
    const { orderId, product, status, from, to, after, withPayload, key } = query
    const asked = await customerAskedFor(OPERATOR, query.customer, customers)
    const customerId = asked ?? key?.customerId
    if (key !== undefined && key.customerId !== customerId) return
    const filter = { customerId, orderId, status, from, to, ...storedFilter(query) }
    const fits = (delivery: DeliverySummary): boolean =>
      (customerId === undefined || delivery.customerId === customerId) &&
      (orderId === undefined || delivery.orderId === orderId) &&
      (status === undefined || delivery.status === status) &&
      delivery.receivedAt >= (from ?? 0) &&
      delivery.receivedAt < (to ?? Number.POSITIVE_INFINITY)
    const pages: AsyncIterable<FoundPage> | Promise<FoundPage>[] =
      customerId !== undefined && orderId !== undefined && after === undefined
        ? [byOrder(customerId, orderId, back)]
        : back
          ? scanBack(query, filter, onScanned)
          : scan(query, filter, asked ?? null, onScanned)
    for await (const { found: all, confirm } of pages) {
      const fitting = all.filter(fits)
      const origins = await deliveries.origins(fitting.map(({ position }) => position))
      const originOf = ({ position }: DeliverySummary): KeptOrigin | undefined => origins.get(position)
      const wanted = fitting.filter((delivery) => isFrom(originOf(delivery), query))
      if (!withPayload && product === undefined) {
        for (const delivery of wanted) yield { delivery, origin: originOf(delivery), payload: undefined }
        continue
      }
      for await (const found of readPayloads({ found: wanted, confirm }, product)) {
        if (product === undefined || (found.payload && productsOf(found.payload).includes(product)))
          yield { ...found, origin: originOf(found.delivery) }
      }
    }
  }

  return {
    find: (query: DeliveryQuery, onScanned?: OnScanned) => find(query, onScanned),

    /** Finds the newest first. */
    findBack: (query: Omit<DeliveryQuery, 'after' | 'withPayload'>, onScanned?: OnScanned) =>
      find({ ...query, withPayload: false }, onScanned, true),

    async cursorOf({ position, customerId }: DeliverySummary, query: DeliveryQuery): Promise<string> {
      if (readTo === undefined) {
        const state = await purges.state()
        readTo = (at) => placeAt(at, state)
      }
      return places.cursorOf(query.customer === undefined ? null : customerId, readTo(position))
    },
  }
}
