import { type Caller, customerAskedFor } from '#src/customer/find-customer.ts'
import { AppError } from '#src/lib/app-error.ts'
import { writeJson } from '#src/lib/json/raw.ts'
import { sharedWork } from '#src/lib/shared-work.ts'
import type { CustomerStore, DeliveryStore, DeliverySummary } from '#src/store/store.ts'
import { itemAnswer, orderAnswer, payloadAnswer } from '../delivery-answer.ts'
import { type FeedPlace, type FeedPlaces, placesFrom } from '../feed-place.ts'
import { withPayloads } from '../payload-limits.ts'
import { purchaseErrors } from '../purchase.errors.ts'
import type { Arrivals, Scope } from './arrivals.ts'

export interface FeedQuery {
  readonly scope: Scope
  /** Place after which to read; undefined for the beginning. */
  readonly after: FeedPlace | undefined
  readonly limit: number
  readonly withPayload: boolean
  /** Bytes of payload in a page, unless the first payload is larger. */
  readonly maxPayloadBytes?: number
}

export interface FeedItem {
  readonly delivery: DeliverySummary
  readonly payload: Uint8Array | undefined
}

export interface FeedPage {
  readonly items: readonly FeedItem[]
  /** Where to read on: the scope has nothing before it that was not returned. */
  readonly place: FeedPlace
  /** The place of whoever has read the page up to a position. */
  readonly placeAt: (position: number) => FeedPlace
}

export type Feed = ReturnType<typeof createFeed>

/** Deliveries that one query scans: those of one customer may lie far apart. */
const MAX_SCANNED = 20_000
const MAX_PAYLOAD_BYTES = 4 * 1024 * 1024
/** The limit where little memory is left. No limit lies between the two, because followers share pages of one size. */
export const FEW_PAYLOAD_BYTES = 256 * 1024

/** How many bytes of payload a page may have where its text may have `availableBytes`. */
export const payloadBytesWithin = (availableBytes: number): number =>
  availableBytes >= 2 * MAX_PAYLOAD_BYTES ? MAX_PAYLOAD_BYTES : FEW_PAYLOAD_BYTES

/** Returns whose deliveries a caller reads. */
export const scopeOf = async (caller: Caller, who: string | undefined, customers: CustomerStore): Promise<Scope> =>
  (await customerAskedFor(caller, who, customers)) ?? null

/** Reads deliveries in the order of their commits, without gaps or repeats. */
export function createFeed(
  deliveries: Pick<DeliveryStore, 'after' | 'pageAfter'>,
  places: FeedPlaces,
  arrivals: Arrivals,
) {
  /** `from` is a later position than that of the place, if the scope is known to have nothing between them. */
  const readPage = async (
    { scope, limit, withPayload, maxPayloadBytes = MAX_PAYLOAD_BYTES, ...query }: FeedQuery,
    from: number | undefined,
  ): Promise<FeedPage> => {
    const place = query.after ?? (await places.first())
    const after = from ?? place.position
    const filter = scope === null ? {} : { customerId: scope }
    const bounds = { limit, scan: MAX_SCANNED }
    const found = withPayload
      ? await deliveries.pageAfter(after, filter, bounds, maxPayloadBytes)
      : await deliveries.after(after, filter, bounds)
    const state = await places.refuseMissing(place, scope)
    const items =
      'payloads' in found
        ? withPayloads(found.deliveries, found.payloads)
        : found.deliveries.map((delivery) => ({ delivery, payload: undefined }))
    const placeAt = placesFrom(place, state)
    return { items, place: placeAt(found.position), placeAt }
  }

  /** Followers at the same place share one query. */
  const read = sharedWork(readPage, ({ scope, after, limit, withPayload, maxPayloadBytes }, from) =>
    JSON.stringify([scope, after, limit, withPayload, maxPayloadBytes, from]),
  )

  const readOrWait = async (query: FeedQuery, until: AbortSignal): Promise<FeedPage> => {
    let { after } = query
    let from: number | undefined
    for (;;) {
      const page = await read({ ...query, after }, from)
      if (page.items.length > 0 || until.aborted) return page
      const { position } = page.place
      const scanned = position - (from ?? after?.position ?? 0)
      after = page.place
      from = undefined
      if (scanned >= MAX_SCANNED) continue
      const wait = arrivals.wait(query.scope, position)
      until.addEventListener('abort', wait.end, { once: true })
      from = await wait.over
      until.removeEventListener('abort', wait.end)
    }
  }

  /** A reader without a cursor has missed nothing when a purge begins meanwhile. */
  const beginAgain = async (
    { after }: FeedQuery,
    work: () => Promise<FeedPage>,
    until?: AbortSignal,
  ): Promise<FeedPage> => {
    for (;;) {
      try {
        return await work()
      } catch (error) {
        const isPurged = error instanceof AppError && error.code === purchaseErrors.cursorPurged.code
        if (after !== undefined || !isPurged || until?.aborted) throw error
      }
    }
  }

  return {
    /**
     * Throws CURSOR_PURGED, as the methods below do, if deliveries after the place were removed since, and DELIVERIES_LOST if the place
     * lies among lost ones.
     */
    check: places.refuseMissing,
    /** Returns what is there now. */
    read: (query: FeedQuery) => beginAgain(query, () => read(query, undefined)),
    /** Returns what is there; if there is nothing, waits for it until the signal. */
    readOrWait: (query: FeedQuery, until: AbortSignal) => beginAgain(query, () => readOrWait(query, until), until),
  }
}

/** About what a page takes as text besides its payloads. */
const BYTES_OF_ITEM = 512

export const pageBytes = ({ items }: FeedPage): number =>
  items.reduce((sum, { payload }) => sum + BYTES_OF_ITEM + (payload?.length ?? 0), 0)

interface FeedEvent {
  readonly id: string
  readonly data: Buffer
}

/** Turns pages of the feed into answers. */
export function createFeedText({ cursorOf }: FeedPlaces) {
  /** Followers that share a page share its text. */
  const made = new WeakMap<FeedPage, Promise<FeedEvent[]>>()
  const makeEvents = (page: FeedPage, scope: Scope): Promise<FeedEvent[]> =>
    Promise.all(
      page.items.map(async (item) => ({
        id: await cursorOf(scope, page.placeAt(item.delivery.position)),
        data: writeJson(answerOf(item)),
      })),
    )

  return {
    answer: async (page: FeedPage, scope: Scope) => ({
      Deliveries: page.items.map(answerOf),
      NextCursor: await cursorOf(scope, page.place),
    }),

    events(page: FeedPage, scope: Scope): Promise<FeedEvent[]> {
      // Only the feed of all customers has many followers, all of them operators.
      if (scope !== null) return makeEvents(page, scope)
      const events = made.get(page) ?? makeEvents(page, scope)
      made.set(page, events)
      return events
    },
  }
}

/** A delivery as the feed shows it. */
export const answerOf = ({ delivery, payload }: FeedItem) => ({
  ...itemAnswer(delivery),
  ...orderAnswer(delivery),
  CustomerID: delivery.customerId,
  ...(payload && payloadAnswer(payload)),
})
