import type { Clock } from '#src/lib/clock.ts'
import type { DeliverySummary, Store, Webhook } from '#src/store/store.ts'
import { isWanted } from '../wanted.ts'

export interface ProgressDependencies {
  readonly store: Pick<Store, 'webhooks' | 'deliveries'>
  readonly clock: Clock
}

/** An endpoint with how far it has come. */
export interface Progress {
  readonly webhook: Webhook
  /** At most this many deliveries are not confirmed: it counts those that the endpoint does not get, too. */
  readonly pending: number
  /** Age of the oldest delivery that is not confirmed and not set aside; 0 if there is none. */
  readonly behindMilliseconds: number
}

/** Bounds the search for the next delivery of an endpoint that gets few of them. The place of one that works passes the others soon. */
const LOOKED_AT = 20_000
const LOOKED_AT_WORKING = 1_000
const READ_AT_ONCE = 200
/** Bounds the search for the first delivery that failed among those set aside. */
const MAX_SET_ASIDE = 1_000

export function createProgress({ store: { webhooks, deliveries }, clock }: ProgressDependencies) {
  const nextOf = async (webhook: Webhook): Promise<DeliverySummary | undefined> => {
    const filter = {
      customerId: webhook.customerId ?? undefined,
      status: webhook.statuses?.length === 1 ? webhook.statuses[0] : undefined,
      duplicate: webhook.duplicates ? undefined : false,
    }
    const limit = (webhook.statuses?.length ?? 1) === 1 ? 1 : READ_AT_ONCE
    const isWorking = webhook.paused === null && webhook.failingSince === null
    const scan = isWorking ? LOOKED_AT_WORKING : LOOKED_AT
    const found = await deliveries.after(webhook.place.position, filter, { limit, scan })
    return found.deliveries.find((delivery) => isWanted(webhook, delivery))
  }

  const firstFailing = async ({ id, waiting, setAside }: Webhook): Promise<DeliverySummary | undefined> => {
    if (waiting === 0) return undefined
    const failing = await webhooks.failing(id, Math.min(setAside, MAX_SET_ASIDE) + 1)
    const position = failing.find(({ setAsideAt }) => setAsideAt === null)?.position
    if (position === undefined) return undefined
    const { deliveries: found } = await deliveries.after(position - 1, {}, { limit: 1, scan: 1 })
    return found.find((delivery) => delivery.position === position)
  }

  const progressOf = async (webhook: Webhook): Promise<Progress> => {
    const { place, waiting } = webhook
    const after = await deliveries.countAfter(place.position)
    const oldest = [await firstFailing(webhook), after === 0 ? undefined : await nextOf(webhook)]
    const times = oldest.flatMap((delivery) => (delivery === undefined ? [] : [delivery.receivedAt]))
    return {
      webhook,
      pending: after + waiting,
      behindMilliseconds: times.length === 0 ? 0 : Math.max(0, clock.now() - Math.min(...times)),
    }
  }

  return async (all: readonly Webhook[]): Promise<Progress[]> => {
    const found: Progress[] = []
    // One after the other: the store has other readers.
    for (const webhook of all) found.push(await progressOf(webhook))
    return found
  }
}
