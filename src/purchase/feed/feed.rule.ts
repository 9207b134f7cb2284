import { sharedWork } from '#src/lib/shared-work.ts'
import type { DeliveryStore, DeliverySummary } from '#src/store/store.ts'
import { withinBytes } from '../within-bytes.ts'
import type { Arrivals, Scope } from './arrivals.ts'

export interface FeedDependencies {
  readonly deliveries: Pick<DeliveryStore, 'after' | 'payloads'>
  readonly arrivals: Arrivals
}

export interface FeedQuery {
  readonly scope: Scope
  /** Position after which to read. */
  readonly after: number
  readonly limit: number
  readonly withPayload: boolean
}

export interface FeedItem {
  readonly delivery: DeliverySummary
  readonly payload: Uint8Array | undefined
}

export interface FeedPage {
  readonly items: readonly FeedItem[]
  /** Where to read on: the scope has nothing before it that was not returned. */
  readonly position: number
}

export interface Feed {
  /** Returns what is there now. */
  read(query: FeedQuery): Promise<FeedPage>
  /** Returns what is there; if there is nothing, waits for it until the signal. */
  readOrWait(query: FeedQuery, until: AbortSignal): Promise<FeedPage>
}

/** Deliveries that one query looks at: those of one customer may lie far apart. */
const MOST_LOOKED_AT = 20_000
/** Bytes of payload in a page, unless the first payload is larger. */
const MOST_PAYLOAD_BYTES = 4 * 1024 * 1024

/** Reads deliveries in the order of their commits, without gaps or repeats. */
export function createFeed({ deliveries, arrivals }: FeedDependencies): Feed {
  const readPage = async ({ scope, after, limit, withPayload }: FeedQuery): Promise<FeedPage> => {
    const filter = scope === null ? {} : { customerId: scope }
    const found = await deliveries.after(after, filter, { most: limit, look: MOST_LOOKED_AT })
    if (!withPayload) {
      const items = found.deliveries.map((delivery) => ({ delivery, payload: undefined }))
      return { items, position: found.position }
    }
    const fitting = withinBytes(found.deliveries, MOST_PAYLOAD_BYTES)
    const payloads = await deliveries.payloads(fitting.map(({ position }) => position))
    const items = fitting.map((delivery) => ({ delivery, payload: payloads.get(delivery.position) }))
    const all = fitting.length === found.deliveries.length
    return { items, position: all ? found.position : (fitting.at(-1)?.position ?? after) }
  }

  /** Followers at the same position share one query. */
  const read = sharedWork(readPage, ({ scope, after, limit, withPayload }) =>
    JSON.stringify([scope, after, limit, withPayload]),
  )

  return {
    read,
    async readOrWait(query, until) {
      let { after } = query
      for (;;) {
        const page = await read({ ...query, after })
        if (page.items.length > 0 || until.aborted) return page
        const looked = page.position - after
        after = page.position
        if (looked >= MOST_LOOKED_AT) continue
        const wait = arrivals.wait(query.scope, after)
        until.addEventListener('abort', wait.end, { once: true })
        after = await wait.over
        until.removeEventListener('abort', wait.end)
        if (until.aborted) return { items: [], position: after }
      }
    },
  }
}
