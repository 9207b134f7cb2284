import { isoMilliseconds } from '#src/lib/clock.ts'
import { writeJson } from '#src/lib/json/raw.ts'
import type { FeedItem } from '#src/purchase/feed/feed.rule.ts'
import { answerOf } from '#src/purchase/feed/feed-text.ts'

/** Makes the body of a delivery, once for all endpoints that share what was read. */
export function createBodies(): (item: FeedItem) => Uint8Array {
  const made = new WeakMap<FeedItem, Uint8Array>()
  return (item) => {
    const body = made.get(item) ?? bodyOf(item)
    made.set(item, body)
    return body
  }
}

const bodyOf = (item: FeedItem): Uint8Array =>
  writeJson({
    type: 'delivery.received',
    timestamp: isoMilliseconds(item.delivery.receivedAt),
    data: answerOf(item, true),
  })
