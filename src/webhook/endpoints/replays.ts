import { AppError } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import { purchaseErrors } from '#src/purchase/purchase.errors.ts'
import type { Laned, Store, Webhook } from '#src/store/store.ts'
import { isWanted } from '#src/store/store.ts'
import { laned } from '../lane.ts'
import { webhookErrors } from '../webhook.errors.ts'
import type { Begin, createBegin, End } from './begin.ts'
import type { ChosenOrder, createChosen } from './chosen.ts'

/** Which deliveries: those between two places, the first exclusive, with one of some Statuses. */
export interface Stretch {
  readonly begin: Begin
  readonly end?: End | undefined
  readonly statuses?: readonly number[] | undefined
}

export interface OrderStretch extends ChosenOrder, Omit<Stretch, 'begin'> {
  readonly begin?: Begin | undefined
}

/** What is sent again. */
export type Replayed = 'set-aside' | { readonly receiptId: string } | Stretch | OrderStretch

/** Deliveries that one transaction adds to what waits. */
const AT_ONCE = 1_000

/** Sends deliveries again. Resolves to their number: for a stretch, which takes its time, to the most that it may have. */
export function createReplays(
  { webhooks, deliveries }: Pick<Store, 'webhooks' | 'deliveries'>,
  clock: Clock,
  places: ReturnType<typeof createBegin>,
  chosen: ReturnType<typeof createChosen>,
) {
  const positionsOf = async (webhook: Webhook, { begin, end }: Pick<OrderStretch, 'begin' | 'end'>) => ({
    from: begin === undefined ? 0 : await places.after(begin, webhook.customerId),
    // What comes after the position of the endpoint is sent anyway.
    until: Math.min(
      webhook.position,
      end === undefined ? Number.POSITIVE_INFINITY : await places.until(end, webhook.customerId),
    ),
  })

  const replayStretch = async (webhook: Webhook, stretch: Stretch): Promise<number> => {
    if (webhook.replay !== null) throw new AppError(webhookErrors.replayRunning)
    const { from, until } = await positionsOf(webhook, stretch)
    if (from >= until) return 0
    const statuses = stretch.statuses === undefined ? null : [...new Set(stretch.statuses)].sort()
    const beganAt = clock.now()
    const begun = await webhooks.setReplay(webhook.id, { from, until, statuses, beganAt })
    if (begun === undefined) throw new AppError(webhookErrors.notFound)
    // One that began at the same time stays.
    if (begun.replay !== null && (begun.replay.beganAt !== beganAt || begun.replay.from !== from))
      throw new AppError(webhookErrors.replayRunning)
    return (await deliveries.countAfter(from)) - (await deliveries.countAfter(until))
  }

  const replayThese = async ({ id }: Webhook, these: readonly Laned[]): Promise<number> => {
    let replayed = 0
    for (let first = 0; first < these.length; first += AT_ONCE) {
      const some = await webhooks.replay(id, these.slice(first, first + AT_ONCE), clock.now())
      if (some === undefined) throw new AppError(webhookErrors.notFound)
      replayed += some
    }
    return replayed
  }

  const ofOrder = async (webhook: Webhook, what: OrderStretch): Promise<Laned[]> => {
    const { from, until } = await positionsOf(webhook, what)
    const found: Laned[] = []
    for await (const page of chosen.order(webhook, what)) {
      const wanted = page.filter(
        (each) =>
          isWanted(webhook, each) &&
          each.position > from &&
          each.position <= until &&
          (what.statuses?.includes(each.status) ?? true),
      )
      found.push(...wanted.map(laned))
    }
    // The oldest first: of a lane the first to wait is the first to be sent.
    return found.reverse()
  }

  const ofReceipt = async (webhook: Webhook, receiptId: string): Promise<Laned> => {
    const found = await chosen.receipt(receiptId)
    if (found === undefined || (webhook.customerId !== null && found.customerId !== webhook.customerId))
      throw new AppError(purchaseErrors.deliveryNotFound)
    if (!isWanted(webhook, found)) throw new AppError(webhookErrors.leftOut)
    if (found.position > webhook.position) throw new AppError(webhookErrors.pending)
    return laned(found)
  }

  return {
    async begin(webhook: Webhook, what: Replayed): Promise<number> {
      if (what === 'set-aside') return (await webhooks.replay(webhook.id, what, clock.now())) ?? 0
      if ('receiptId' in what) return replayThese(webhook, [await ofReceipt(webhook, what.receiptId)])
      if ('orderId' in what) return replayThese(webhook, await ofOrder(webhook, what))
      return replayStretch(webhook, what)
    },

    /** Ends the replay of a stretch. Resolves to the number of deliveries that it has added, which are sent. */
    async cancel({ id, replay }: Webhook): Promise<number> {
      if (replay === null) return 0
      await webhooks.setReplay(id, null)
      return replay.added
    },
  }
}
