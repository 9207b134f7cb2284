import { type Clock, isoMilliseconds } from '#src/lib/clock.ts'
import { sharedWork } from '#src/lib/shared-work.ts'
import { withoutMark } from '#src/lib/text.ts'
import type { FeedItem } from '#src/purchase/feed/feed.rule.ts'
import { answerOf } from '#src/purchase/feed/feed.rule.ts'
import { withPayloads } from '#src/purchase/payload-limits.ts'
import type { DeliverySummary, Store } from '#src/store/store.ts'
import { LIMITS } from './lanes.ts'

interface Page {
  readonly deliveries: readonly DeliverySummary[]
  /** Everything up to here was read. */
  readonly end: number
  readonly hasMore: boolean
  /** The last delivery that is left, if the place lies among those that a failover lost. */
  readonly lastLeft: number | undefined
}

interface Kept {
  /** The body, once it was made. */
  content: FeedItem | Uint8Array
  readonly bytes: number
  readonly readAt: number
}

/** A delivery is not sent from memory after this time, because it may have been erased. */
const FRESH_MILLISECONDS = 2000
const MAX_BYTES = 32 * 1024 * 1024
const MAX_BYTES_UNDER_WAY = 32 * 1024 * 1024
const MAX_BYTES_OF_ENDPOINT = 8 * 1024 * 1024
const PAGE_BYTES = 1024 * 1024
/** Deliveries that one query looks at: those of one customer may lie far apart. */
const MAX_LOOKED_AT = 20_000
/** About what a delivery takes besides its payload. */
const BYTES_OF_DELIVERY = 512

export type Payloads = ReturnType<typeof createPayloads>

/** Reads deliveries for all endpoints, and has their bodies as long as they are fresh. */
export function createPayloads({ deliveries, purges }: Pick<Store, 'deliveries' | 'purges'>, clock: Clock) {
  /** By position, in the order in which they were read. */
  const kept = new Map<number, Kept>()
  let bytes = 0
  let bytesUnderWay = 0

  const drop = (position: number): void => {
    bytes -= kept.get(position)?.bytes ?? 0
    kept.delete(position)
  }

  const dropOld = (): void => {
    for (const [position, { readAt }] of kept) {
      if (bytes <= MAX_BYTES && clock.monotonic() - readAt < FRESH_MILLISECONDS) return
      drop(position)
    }
  }

  const keep = (item: FeedItem, readAt: number): void => {
    const size = BYTES_OF_DELIVERY + (item.payload?.length ?? 0)
    drop(item.delivery.position)
    kept.set(item.delivery.position, { content: item, bytes: size, readAt })
    bytes += size
    dropOld()
  }

  const bodyOf = (one: Kept): Uint8Array => {
    if (!(one.content instanceof Uint8Array)) one.content = makeBody(one.content)
    return one.content
  }

  const readPage = async (scope: string | null, place: number, from: number): Promise<Page> => {
    const readAt = clock.monotonic()
    const bounds = { limit: LIMITS.page, scan: MAX_LOOKED_AT }
    const filter = scope === null ? {} : { customerId: scope }
    const found = await deliveries.pageAfter(from, filter, bounds, PAGE_BYTES)
    // A failover may come between: so this must be asked after what was read.
    const { lost } = await purges.state(place)
    const there = withPayloads(found.deliveries, found.payloads)
    for (const item of lost === null ? there : []) keep(item, readAt)
    const end = found.position
    const hasMore = found.isCut || found.deliveries.length === LIMITS.page || end - from >= MAX_LOOKED_AT
    return { deliveries: there.map(({ delivery }) => delivery), end, hasMore, lastLeft: lost?.lastPosition }
  }

  const readOne = async (receiptId: string): Promise<Uint8Array | undefined> => {
    const readAt = clock.monotonic()
    const found = await deliveries.findByReceipt(receiptId)
    if (found === undefined) return undefined
    const { payload, origin: _, ...delivery } = found
    keep(
      { delivery: { ...delivery, payloadBytes: payload.length }, payload: delivery.erased ? undefined : payload },
      readAt,
    )
    return bodyOf(kept.get(found.position) as Kept)
  }

  return {
    /** Reads what a scope has after a position, whose place is earlier if nothing lies between. Endpoints at the same place share it. */
    page: sharedWork(readPage, (...where) => JSON.stringify(where)),
    fresh(position: number): Uint8Array | undefined {
      const found = kept.get(position)
      return found && clock.monotonic() - found.readAt < FRESH_MILLISECONDS ? bodyOf(found) : undefined
    },
    /** Reads a body from the store; undefined if the delivery was purged. */
    read: sharedWork(readOne, (receiptId) => receiptId),
    dropOld,
    /** Whether an endpoint that has so many bytes under way may begin another attempt. */
    hasRoom: (ofEndpoint: number): boolean =>
      ofEndpoint === 0 || (ofEndpoint < MAX_BYTES_OF_ENDPOINT && bytesUnderWay < MAX_BYTES_UNDER_WAY),
    count(change: number): void {
      bytesUnderWay += change
    },
  }
}

/** Does what writeJson would do, in a fraction of its time. */
const makeBody = ({ delivery, payload }: FeedItem): Uint8Array => {
  const data = answerOf({ delivery, payload: undefined })
  const head = JSON.stringify({ type: 'delivery.received', timestamp: isoMilliseconds(delivery.receivedAt), data })
  if (payload === undefined) return Buffer.from(head)
  return Buffer.concat([Buffer.from(`${head.slice(0, -END.length)},"Payload":`), withoutMark(payload), END])
}

const END = Buffer.from('}}')
