import { writeJson } from '#src/lib/json/raw.ts'
import type { Cursors } from '../cursors.ts'
import { itemAnswer, orderAnswer, payloadAnswer } from '../delivery-answer.ts'
import { type FeedPlace, feedPurpose, openedPlace, type SealedPlace, sealedPlace } from '../feed-place.ts'
import type { Scope } from './arrivals.ts'
import type { FeedItem, FeedPage } from './feed.rule.ts'

export interface FeedEvent {
  readonly id: string
  readonly data: Buffer
}

/** Turns pages of the feed into answers. With `withCustomer` each item names its customer. */
export function createFeedText(cursors: Cursors) {
  /** Followers that share a page share its text. */
  const made = new WeakMap<FeedPage, Promise<FeedEvent[]>>()
  const cursorOf = (scope: Scope, place: FeedPlace): Promise<string> =>
    cursors.seal(feedPurpose(scope), sealedPlace(place))

  const makeEvents = (page: FeedPage, scope: Scope, withCustomer: boolean): Promise<FeedEvent[]> =>
    Promise.all(
      page.items.map(async (item) => ({
        id: await cursorOf(scope, page.placeAt(item.delivery.position)),
        data: writeJson(answerOf(item, withCustomer)),
      })),
    )

  return {
    placeOf: async (scope: Scope, cursor: string): Promise<FeedPlace> =>
      openedPlace(await cursors.open<SealedPlace>(feedPurpose(scope), cursor)),

    cursorOf,

    answer: async (page: FeedPage, scope: Scope, withCustomer: boolean) => ({
      Deliveries: page.items.map((item) => answerOf(item, withCustomer)),
      NextCursor: await cursorOf(scope, page.place),
    }),

    events(page: FeedPage, scope: Scope, withCustomer: boolean): Promise<FeedEvent[]> {
      // Only the feed of all customers has many followers, all of them operators.
      if (scope !== null) return makeEvents(page, scope, withCustomer)
      const events = made.get(page) ?? makeEvents(page, scope, withCustomer)
      made.set(page, events)
      return events
    },
  }
}

/** A delivery as the feed shows it. */
export const answerOf = ({ delivery, payload }: FeedItem, withCustomer: boolean) => ({
  ...itemAnswer(delivery),
  ...orderAnswer(delivery),
  ...(withCustomer && { CustomerID: delivery.customerId }),
  ...(payload && payloadAnswer(payload)),
})
