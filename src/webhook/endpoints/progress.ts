import type { Clock } from '#src/lib/clock.ts'
import { isWanted, type Store, type Webhook } from '#src/store/store.ts'
import { type Standing, standingOf } from './standing.ts'

/** An endpoint with how far it has come. */
export interface Progress {
  readonly webhook: Webhook
  readonly standing: Standing
  /** Deliveries for this endpoint that are not confirmed and not set aside; some that were just confirmed may be among them. */
  readonly pending: number
  /** Whether there are more, which were not counted. */
  readonly pendingAtLeast: boolean
  /** Age of the oldest delivery that is not confirmed, not set aside and not sent again; 0 if there is none. */
  readonly behindMilliseconds: number
}

/** Bounds the count for an endpoint that gets only some deliveries: it looks at so many, and counts so many of them. */
const LOOKED_AT = 20_000
const MAX_COUNTED = 1_000
/** What is waiting and older than the oldest of these rows is set aside, or was sent again. */
const MAX_WAITING_LOOKED_AT = 10_000

interface Unread {
  readonly count: number
  readonly atLeast: boolean
  /** When the first of them was received. */
  readonly since: number | null
}

/** When a delivery is really tried again: not before an endpoint that does not answer is, and not while it is paused. */
export function nextTryOf({ paused, silentUntil }: Webhook, nextAt: number | null): number | null {
  if (paused !== null || nextAt === null) return null
  return Math.max(nextAt, silentUntil ?? 0)
}

export function createProgress({ webhooks, deliveries }: Pick<Store, 'webhooks' | 'deliveries'>, clock: Clock) {
  /** What comes after the position of an endpoint. */
  const unreadOf = async (webhook: Webhook): Promise<Unread> => {
    const { position, customerId, statuses, duplicates } = webhook
    const after = await deliveries.countAfter(position)
    if (after === 0) return { count: 0, atLeast: false, since: null }
    const getsAll = customerId === null && statuses === null && duplicates
    const filter = {
      customerId: customerId ?? undefined,
      status: statuses?.length === 1 ? statuses[0] : undefined,
      duplicate: duplicates ? undefined : false,
    }
    const bounds = { limit: getsAll ? 1 : MAX_COUNTED, scan: LOOKED_AT }
    const page = await deliveries.after(position, filter, bounds)
    const wanted = page.deliveries.filter((delivery) => isWanted(webhook, delivery))
    const since = wanted[0]?.receivedAt ?? null
    if (getsAll) return { count: after, atLeast: false, since }
    return { count: wanted.length, atLeast: (await deliveries.countAfter(page.position)) > 0, since }
  }

  const progressOf = async (webhook: Webhook): Promise<Progress> => {
    const { id, waiting, failing, failingSince } = webhook
    const unread = await unreadOf(webhook)
    const oldest = waiting === 0 ? null : await webhooks.oldestWaiting(id, MAX_WAITING_LOOKED_AT)
    // It has failed for at least so long, where the oldest was not found.
    const times = [unread.since, oldest, failing > 0 ? failingSince : null].filter((time) => time !== null)
    const behindMilliseconds = times.length === 0 ? 0 : Math.max(0, clock.now() - Math.min(...times))
    return {
      webhook,
      standing: standingOf(webhook, behindMilliseconds),
      pending: unread.count + waiting,
      pendingAtLeast: unread.atLeast,
      behindMilliseconds,
    }
  }

  return async (all: readonly Webhook[]): Promise<Progress[]> => {
    const found: Progress[] = []
    // One after the other: the store has other readers.
    for (const webhook of all) found.push(await progressOf(webhook))
    return found
  }
}
