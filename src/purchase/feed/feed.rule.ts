import type { DeliveryStore, DeliverySummary } from '#src/store/store.ts'
import { withinBytes } from '../within-bytes.ts'
import type { Arrivals, Scope } from './arrivals.ts'

export interface FeedDependencies {
  readonly deliveries: Pick<DeliveryStore, 'after' | 'payloads'>
  readonly arrivals: Arrivals
}

export interface FeedQuery {
  readonly scope: Scope
  /** Deliveries after this position. */
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
  /** Everything of the scope up to here has been handed out. */
  readonly position: number
}

export interface Feed {
  /** What is there now. */
  read(query: FeedQuery): Promise<FeedPage>
  /** What is there or comes, until the signal. */
  readOrWait(query: FeedQuery, until: AbortSignal): Promise<FeedPage>
}

/** Deliveries looked at in one go: a customer's may lie far apart. */
const MOST_LOOKED_AT = 20_000
/** Of payloads in a page, unless the first one is larger by itself. */
const MOST_BYTES = 4 * 1024 * 1024

/** Deliveries in the order of their commits, without gaps or repeats. */
export function createFeed({ deliveries, arrivals }: FeedDependencies): Feed {
  /** Followers who have all read as far as each other share one look. */
  const underWay = new Map<string, Promise<FeedPage>>()

  const readAlone = async ({ scope, after, limit, withPayload }: FeedQuery): Promise<FeedPage> => {
    const filter = scope === null ? {} : { customerId: scope }
    const found = await deliveries.after(after, filter, { most: limit, look: MOST_LOOKED_AT })
    if (!withPayload) {
      const items = found.deliveries.map((delivery) => ({ delivery, payload: undefined }))
      return { items, position: found.position }
    }
    const fitting = withinBytes(found.deliveries, MOST_BYTES)
    const payloads = await deliveries.payloads(fitting.map(({ position }) => position))
    const items = fitting.map((delivery) => ({ delivery, payload: payloads.get(delivery.position) }))
    const all = fitting.length === found.deliveries.length
    return { items, position: all ? found.position : (fitting.at(-1)?.position ?? after) }
  }

  const read = (query: FeedQuery): Promise<FeedPage> => {
    const name = JSON.stringify([query.scope, query.after, query.limit, query.withPayload])
    const shared = underWay.get(name) ?? readAlone(query).finally(() => underWay.delete(name))
    underWay.set(name, shared)
    return shared
  }

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
