import type { Clock } from '#src/lib/clock.ts'
import { displayNames } from '#src/lib/display-name.ts'
import type { Cursors } from '#src/purchase/cursors.ts'
import { createFeedPlaces, placeAt } from '#src/purchase/feed-place.ts'
import type { Store, Webhook } from '#src/store/store.ts'
import { createProgress, type Progress } from './progress.ts'

/** An endpoint as operators see it. */
export interface DescribedEndpoint extends Progress {
  /** What people call its customer; undefined for all customers. */
  readonly customer: string | undefined
  /** A cursor of the feed. */
  readonly cursor: string
  /** When the first and the last delivery of the stretch that is sent again were received; null if no such delivery is left. */
  readonly replayed: { readonly from: number | null; readonly until: number | null } | null
}

export function createDescribe(
  store: Pick<Store, 'webhooks' | 'deliveries' | 'purges' | 'customers'>,
  cursors: Cursors,
  clock: Clock,
) {
  const { customers, deliveries, purges } = store
  const progressOf = createProgress(store, clock)
  const { cursorOf } = createFeedPlaces({ deliveries, purges, cursors })

  const replayedTimes = async ({ replay }: Webhook): Promise<DescribedEndpoint['replayed']> => {
    if (replay === null) return null
    const bounds = { limit: 1, scan: 1 }
    const [first] = (await deliveries.after(replay.from, {}, bounds)).deliveries
    const [last] = (await deliveries.before(replay.until + 1, {}, bounds)).deliveries
    return { from: first?.receivedAt ?? null, until: last?.receivedAt ?? null }
  }

  return async (all: readonly Webhook[]): Promise<DescribedEndpoint[]> => {
    const state = await purges.state()
    const ids = new Set(all.map(({ customerId }) => customerId).filter((id) => id !== null))
    const names = ids.size === 0 ? new Map() : displayNames(await customers.names([...ids]))
    return Promise.all(
      (await progressOf(all)).map(async (progress) => {
        const { customerId, position } = progress.webhook
        // Whoever goes on from here is promised what purges leave, as if they began now.
        const cursor = await cursorOf(customerId, placeAt(position, state))
        return { ...progress, customer: names.get(customerId), cursor, replayed: await replayedTimes(progress.webhook) }
      }),
    )
  }
}
