import type { After, Clock } from '#src/lib/clock.ts'
import type { DeliveryStore, Webhook, WebhookStore } from '#src/store/store.ts'
import { isWanted } from '#src/store/store.ts'
import { laned } from '../lane.ts'
import { LIMITS } from './lanes.ts'

export interface ReplayDependencies {
  readonly deliveries: Pick<DeliveryStore, 'after'>
  readonly webhooks: Pick<WebhookStore, 'addReplayed'>
  readonly holder: string
  readonly clock: Clock
  readonly after: After
  /** Whether progress can be stored: what is sent while it cannot would be sent again, and may undo what a replay adds. */
  readonly canSave: () => boolean
  readonly onStoreFailed: (error: unknown) => void
}

/** Replayed deliveries that wait at most. */
const AHEAD = 1000
const MAX_LOOKED_AT = 20_000
const PAUSE_MILLISECONDS = 200
const AGAIN_MILLISECONDS = 1000

/** Adds the deliveries of a replay to what waits, a little at a time, until it is at its end or nobody wants it any more. */
export async function workOff(
  webhook: Webhook,
  { deliveries, webhooks, holder, clock, after, canSave, onStoreFailed }: ReplayDependencies,
  isStopped: () => boolean,
  onAdded: () => void,
): Promise<void> {
  const { id, replay, customerId } = webhook
  if (replay === null) return
  const { until, statuses, beganAt } = replay
  const filter = customerId === null ? {} : { customerId }
  let at = replay.position
  /** Not known before something was added. */
  let ahead = AHEAD

  const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => void after(milliseconds, resolve))

  const addPage = async (): Promise<void> => {
    const limit = Math.min(LIMITS.page, AHEAD - ahead)
    const page = limit > 0 ? await deliveries.after(at, filter, { limit, scan: MAX_LOOKED_AT }) : undefined
    const found = (page?.deliveries ?? []).filter(
      (delivery) =>
        delivery.position <= until && isWanted(webhook, delivery) && (statuses?.includes(delivery.status) ?? true),
    )
    const wanted = found.map(laned)
    // What was removed at the end of the stretch leaves the position before it.
    const isEnd = page !== undefined && (page.position >= until || page.position === at)
    const position = isEnd ? until : (page?.position ?? at)
    const count = await webhooks.addReplayed(holder, id, beganAt, { deliveries: wanted, position }, clock.now())
    at = count === undefined ? until : position
    ahead = count ?? AHEAD
    if (wanted.length > 0) onAdded()
  }

  while (at < until && !isStopped()) {
    try {
      if (canSave()) await addPage()
      if (at < until && (!canSave() || ahead + LIMITS.page > AHEAD)) await pause(PAUSE_MILLISECONDS)
    } catch (error) {
      onStoreFailed(error)
      await pause(AGAIN_MILLISECONDS)
    }
  }
}
