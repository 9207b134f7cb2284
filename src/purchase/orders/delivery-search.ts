import { customerAskedFor, OPERATOR } from '#src/customer/find-customer.ts'
import type { CustomerStore, DeliveryStore, DeliverySummary, PurgeStore } from '#src/store/store.ts'
import type { Cursors } from '../cursors.ts'
import {
  createLostWords,
  type FeedPlace,
  feedPurpose,
  firstPlace,
  openedPlace,
  placeAt,
  placesFrom,
  refusesMissing,
  type SealedPlace,
  sealedPlace,
} from '../feed-place.ts'
import { withinBytes, withPayloads } from '../payload-limits.ts'

export interface DeliverySearchDependencies {
  readonly deliveries: DeliveryStore
  readonly purges: PurgeStore
  readonly customers: CustomerStore
  readonly cursors: Cursors
  readonly productsOf: (payload: Uint8Array) => readonly string[]
}

export interface DeliveryQuery {
  /** Id or e-mail address. */
  readonly customer?: string | undefined
  readonly orderId?: string | undefined
  readonly product?: string | undefined
  readonly status?: number | undefined
  /** Milliseconds since 1970, inclusive. */
  readonly from?: number | undefined
  /** Milliseconds since 1970, exclusive. */
  readonly to?: number | undefined
  readonly receipt?: string | undefined
  /** A cursor of this search or of the feed, after which to search. */
  readonly after?: string | undefined
  readonly withPayload: boolean
}

export interface FoundDelivery {
  readonly delivery: DeliverySummary
  readonly payload: Uint8Array | undefined
}

interface FoundPage {
  readonly found: readonly DeliverySummary[]
  /** Throws CURSOR_PURGED if a purge may have removed some of what was asked for. Called after payloads were read. */
  confirm(): Promise<unknown>
}

/** Hears how far a search has come. */
export type OnScanned = (position: number, end: number) => void

export type DeliverySearch = ReturnType<typeof createDeliverySearch>

const SCANNED_AT_ONCE = 20_000
const FOUND_AT_ONCE = 500
const BYTES_AT_ONCE = 4 * 1024 * 1024

/** Searches all deliveries for operators, in the order of their commits. */
export function createDeliverySearch({
  deliveries,
  purges,
  customers,
  cursors,
  productsOf,
}: DeliverySearchDependencies) {
  const refuse = refusesMissing(purges, createLostWords({ deliveries, cursors }))

  /** Returns the place of whoever has read up to a position. */
  let readTo: ((position: number) => FeedPlace) | undefined

  const confirm = async (): Promise<void> => undefined

  const byReceipt = async (receiptId: string): Promise<FoundPage> => {
    const found = await deliveries.findByReceipt(receiptId)
    return { found: found === undefined ? [] : [{ ...found, payloadBytes: found.payload.length }], confirm }
  }

  /** Reads the history of the order, which is far shorter than the list of all deliveries. */
  const byOrder = async (customerId: string, orderId: string): Promise<FoundPage> => ({
    found: (await deliveries.history(customerId, orderId)).reverse(),
    confirm,
  })

  async function* scan(
    query: DeliveryQuery,
    customerId: string | undefined,
    onScanned: OnScanned,
    earliest: number,
  ): AsyncGenerator<FoundPage> {
    const { orderId, status, from, to, after } = query
    let place =
      after === undefined
        ? await firstPlace(purges)
        : openedPlace(await cursors.open<SealedPlace>(feedPurpose(customerId ?? null), after))
    const scope = customerId ?? null
    if (after !== undefined) await refuse(place, scope)
    const { early, end } = await deliveries.positionsWithin({ from, to })
    const shown = Math.min(end, await deliveries.lastPosition())
    const bounds = { limit: FOUND_AT_ONCE, scan: SCANNED_AT_ONCE }
    for (let position = Math.max(place.position, early, earliest); position < end; ) {
      const page = await deliveries.after(position, { customerId, orderId, status, from, to }, bounds)
      const begun = place
      const confirm = async (): Promise<void> => {
        if (!query.withPayload) return
        readTo = placesFrom(begun, await refuse(begun, scope))
      }
      await confirm()
      if (page.position === position) return
      yield { found: page.deliveries, confirm }
      if (readTo !== undefined) place = readTo(page.position)
      position = page.position
      onScanned(position, shown)
    }
  }

  async function* readPayloads(
    { found, confirm }: FoundPage,
    product: string | undefined,
  ): AsyncGenerator<FoundDelivery> {
    for (let rest = found; rest.length > 0; ) {
      const some = withinBytes(rest, BYTES_AT_ONCE)
      const positions = some.map(({ position }) => position)
      const payloads = await deliveries.payloads(positions, product)
      await confirm()
      yield* withPayloads(some, payloads)
      rest = rest.slice(some.length)
    }
  }

  async function* find(
    query: DeliveryQuery,
    onScanned: OnScanned = () => undefined,
    earliest = 0,
  ): AsyncGenerator<FoundDelivery> {
    const { orderId, product, status, from = 0, to = Number.POSITIVE_INFINITY, receipt, after, withPayload } = query
    const customerId = await customerAskedFor(OPERATOR, query.customer, customers)
    const fits = (delivery: DeliverySummary): boolean =>
      (customerId === undefined || delivery.customerId === customerId) &&
      (orderId === undefined || delivery.orderId === orderId) &&
      (status === undefined || delivery.status === status) &&
      delivery.receivedAt >= from &&
      delivery.receivedAt < to
    const pages: AsyncIterable<FoundPage> | Promise<FoundPage>[] =
      receipt !== undefined
        ? [byReceipt(receipt)]
        : customerId !== undefined && orderId !== undefined && after === undefined
          ? [byOrder(customerId, orderId)]
          : scan(query, customerId, onScanned, earliest)
    for await (const { found: all, confirm } of pages) {
      const fitting = all.filter(fits)
      if (!withPayload && product === undefined) {
        for (const delivery of fitting) yield { delivery, payload: undefined }
        continue
      }
      for await (const found of readPayloads({ found: fitting, confirm }, product)) {
        if (product === undefined || (found.payload && productsOf(found.payload).includes(product))) yield found
      }
    }
  }

  return {
    find: (query: DeliveryQuery, onScanned?: OnScanned) => find(query, onScanned),

    /** Returns the newest `limit` matches. */
    async *findNewest(query: DeliveryQuery, limit: number, onScanned?: OnScanned): AsyncGenerator<FoundDelivery> {
      const newest: FoundDelivery[] = []
      const { withPayload: _, ...filters } = query
      const all = Object.values(filters).every((value) => value === undefined)
      const last = all ? await deliveries.lastPosition() : 0
      // After a purge the newest ones may lie far apart.
      for (let back = limit; ; back *= 8) {
        const earliest = Math.max(0, last - back)
        for await (const found of find(query, onScanned, earliest)) {
          newest.push(found)
          if (newest.length > 2 * limit) newest.splice(0, newest.length - limit)
        }
        if (newest.length >= limit || earliest === 0) break
        newest.length = 0
      }
      yield* newest.slice(-limit)
    },

    async cursorOf({ position, customerId }: DeliverySummary, query: DeliveryQuery): Promise<string> {
      if (readTo === undefined) {
        const state = await purges.state()
        readTo = (at) => placeAt(at, state)
      }
      const place = sealedPlace(readTo(position))
      return cursors.seal(feedPurpose(query.customer === undefined ? null : customerId), place)
    },
  }
}
