import { AppError, inOtherWords } from '#src/lib/app-error.ts'
import type { Cursors } from '#src/purchase/cursors.ts'
import { createFeedPlaces, type FeedPlace } from '#src/purchase/feed-place.ts'
import { purchaseErrors } from '#src/purchase/purchase.errors.ts'
import type { Store } from '#src/store/store.ts'

/** Where an endpoint begins: with what comes in from now on, with the first delivery that there is, or after one. */
export type Begin =
  | 'now'
  | 'start'
  /** A cursor of the feed. */
  | { readonly cursor: string }
  /** A time of receipt, in milliseconds since 1970. */
  | { readonly time: number }

/** A cursor or a time, up to which deliveries are sent again. */
export type End = Exclude<Begin, string>

/**
 * Finds the position after which an endpoint begins, or begins again (`after`), and the one that ends a replay (`until`). Throws
 * CURSOR_INVALID, CURSOR_PURGED or DELIVERIES_LOST.
 */
export function createBegin({ deliveries, purges }: Pick<Store, 'deliveries' | 'purges'>, cursors: Cursors) {
  const places = createFeedPlaces({ deliveries, purges, cursors })

  const placeOf = async (customerId: string | null, cursor: string): Promise<FeedPlace> => {
    try {
      // A cursor of all customers has nothing of this one before it that was not read, either.
      if (customerId !== null) return await places.placeOf(customerId, cursor)
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== purchaseErrors.cursorInvalid.code) throw error
    }
    return places.placeOf(null, cursor)
  }

  const after = async (begin: Begin, customerId: string | null): Promise<number> => {
    if (begin === 'start') return 0
    if (begin === 'now') return deliveries.lastPosition()
    // Deliveries are nearly in the order of their times: those of a few minutes before may come, too, but none is left out.
    if ('time' in begin) return (await deliveries.positionsWithin({ from: begin.time })).early
    const place = await placeOf(customerId, begin.cursor)
    await places.refuseMissing(place, customerId)
    return place.position
  }

  const until = async (end: End, customerId: string | null): Promise<number> => {
    // The delivery at the end is the first one that was received minutes later.
    if ('time' in end) return (await deliveries.positionsWithin({ to: end.time })).end - 1
    return (await placeOf(customerId, end.cursor)).position
  }

  /** These errors tell followers of the feed what to do. */
  const inWordsOfEndpoints = (position: Promise<number>): Promise<number> =>
    position
      .catch(inOtherWords(purchaseErrors.cursorInvalid, NO_CURSOR))
      .catch(inOtherWords(purchaseErrors.cursorPurged, PURGED))
  return {
    after: (...where: Parameters<typeof after>) => inWordsOfEndpoints(after(...where)),
    until: (...where: Parameters<typeof until>) => inWordsOfEndpoints(until(...where)),
  }
}

const NO_CURSOR =
  'This is no cursor of the feed of all customers, or of the customer of this endpoint, or it lies in what a restored backup undid.'
const PURGED =
  'Deliveries that follow this cursor were removed because of their age: begin with "start", which is the first delivery that is left.'
