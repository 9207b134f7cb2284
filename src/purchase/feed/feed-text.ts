import { writeJson } from '#src/lib/json/raw.ts'
import type { Cursors } from '../cursors.ts'
import { itemAnswer, payloadAnswer } from '../delivery-answer.ts'
import type { Scope } from './arrivals.ts'
import type { FeedItem, FeedPage } from './feed.rule.ts'

export interface FeedEvent {
  readonly id: string
  readonly data: string
}

/** Pages of the feed as they are answered. `owned` says whether each item names its customer. */
export function createFeedText(cursors: Cursors) {
  /** Followers who share a page share its text. */
  const made = new WeakMap<FeedPage, Promise<FeedEvent[]>>()
  const purpose = (scope: Scope) => ['feed', scope]

  const makeEvents = (page: FeedPage, scope: Scope, owned: boolean): Promise<FeedEvent[]> =>
    Promise.all(
      page.items.map(async (item) => ({
        id: await cursors.seal(purpose(scope), item.delivery.position),
        data: writeJson(answerOf(item, owned)).toString(),
      })),
    )

  return {
    positionOf: (scope: Scope, cursor: string): Promise<number> => cursors.open<number>(purpose(scope), cursor),

    answer: async (page: FeedPage, scope: Scope, owned: boolean) => ({
      items: page.items.map((item) => answerOf(item, owned)),
      cursor: await cursors.seal(purpose(scope), page.position),
    }),

    events(page: FeedPage, scope: Scope, owned: boolean): Promise<FeedEvent[]> {
      // Only what everybody follows is followed by many, all of them operators.
      if (scope !== null) return makeEvents(page, scope, owned)
      const events = made.get(page) ?? makeEvents(page, scope, owned)
      made.set(page, events)
      return events
    },
  }
}

const answerOf = ({ delivery, payload }: FeedItem, owned: boolean) => {
  const { orderId, customerId } = delivery
  return {
    ...itemAnswer(delivery),
    ...(orderId !== null && { OrderID: orderId }),
    ...(owned && { CustomerID: customerId }),
    ...(payload && payloadAnswer(payload)),
  }
}
