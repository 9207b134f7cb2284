import type { FeedItem } from '#src/purchase/feed/feed.rule.ts'
import type { DeliveryStore } from '#src/store/store.ts'
import type { Pushed } from './entry.ts'

/** Payloads are not sent from memory after this time, because the delivery may have been erased. */
const FRESH_MILLISECONDS = 2000
const MAX_BYTES = 4 * 1024 * 1024

/** The deliveries of one endpoint with their payloads, as long as they are fresh. */
export interface Contents {
  keep(items: readonly FeedItem[], now: number): void
  /** Returns the delivery if it was read just now. */
  fresh(position: number, now: number): FeedItem | undefined
  /** Reads it from the store; undefined if it was purged. */
  read(pushed: Pushed): Promise<FeedItem | undefined>
  drop(position: number): void
  dropOld(now: number): void
  /** Whether so much is in memory that nothing more should be read. */
  isFull(): boolean
}

export function createContents(deliveries: Pick<DeliveryStore, 'findByReceipt'>): Contents {
  /** In the order in which they were read. */
  const kept = new Map<number, { readonly item: FeedItem; readonly readAt: number }>()
  let bytes = 0

  const drop = (position: number): void => {
    bytes -= kept.get(position)?.item.payload?.length ?? 0
    kept.delete(position)
  }

  return {
    keep(items, readAt) {
      for (const item of items) {
        kept.set(item.delivery.position, { item, readAt })
        bytes += item.payload?.length ?? 0
      }
    },
    fresh(position, now) {
      const found = kept.get(position)
      return found !== undefined && now - found.readAt < FRESH_MILLISECONDS ? found.item : undefined
    },
    async read({ receiptId }) {
      const found = await deliveries.findByReceipt(receiptId)
      if (found === undefined) return undefined
      const { payload, origin: _, ...delivery } = found
      return {
        delivery: { ...delivery, payloadBytes: payload.length },
        payload: delivery.erased ? undefined : payload,
      }
    },
    drop,
    dropOld(now) {
      for (const [position, { readAt }] of kept) {
        if (now - readAt < FRESH_MILLISECONDS) return
        drop(position)
      }
    },
    isFull: () => bytes >= MAX_BYTES,
  }
}
