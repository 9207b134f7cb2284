import type { DeliveryStore, Webhook, WebhookStore } from '#src/store/store.ts'
import { isWanted } from '#src/store/store.ts'
import { laneOf } from '../lane.ts'
import { LIMITS } from './lanes.ts'

export interface ReplayDependencies {
  readonly deliveries: Pick<DeliveryStore, 'after'>
  readonly webhooks: Pick<WebhookStore, 'addReplayed'>
  readonly holder: string
  readonly now: () => number
  readonly pause: (milliseconds: number) => Promise<void>
  readonly isStopped: () => boolean
  readonly onAdded: () => void
  readonly onFailed: (error: unknown) => void
}

/** Replayed deliveries that wait at most. */
const AHEAD = 1000
const MAX_LOOKED_AT = 20_000
const PAUSE_MILLISECONDS = 200
const AGAIN_MILLISECONDS = 1000

/** Adds the deliveries of a replay to what waits, a little at a time, until it is at its end or nobody wants it any more. */
export async function workOff(webhook: Webhook, dependencies: ReplayDependencies): Promise<void> {
  const { deliveries, webhooks, holder, now, pause, isStopped, onAdded, onFailed } = dependencies
  const { id, replay, customerId } = webhook
  if (replay === null) return
  const { until, statuses, beganAt } = replay
  const filter = customerId === null ? {} : { customerId }
  let at = replay.position
  /** Not known before something was added. */
  let ahead = AHEAD

  const addPage = async (): Promise<void> => {
    const limit = Math.min(LIMITS.page, AHEAD - ahead)
    const page = limit > 0 ? await deliveries.after(at, filter, { limit, scan: MAX_LOOKED_AT }) : undefined
    const found = (page?.deliveries ?? []).filter(
      (delivery) =>
        delivery.position <= until && isWanted(webhook, delivery) && (statuses?.includes(delivery.status) ?? true),
    )
    const wanted = found.map(({ position, customerId, orderId }) => ({
      position,
      lane: laneOf(customerId, orderId, position),
    }))
    // What was removed at the end of the stretch leaves the position before it.
    const isEnd = page !== undefined && (page.position >= until || page.position === at)
    const position = isEnd ? until : (page?.position ?? at)
    const count = await webhooks.addReplayed(holder, id, beganAt, { deliveries: wanted, position }, now())
    at = count === undefined ? until : position
    ahead = count ?? AHEAD
    if (wanted.length > 0) onAdded()
  }

  while (at < until && !isStopped()) {
    try {
      await addPage()
      if (at < until && ahead + LIMITS.page > AHEAD) await pause(PAUSE_MILLISECONDS)
    } catch (error) {
      onFailed(error)
      await pause(AGAIN_MILLISECONDS)
    }
  }
}
