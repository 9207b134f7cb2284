import { AppError } from '#src/lib/app-error.ts'
import type { Clock } from '#src/lib/clock.ts'
import { timeOfId } from '#src/lib/random.ts'
import { purchaseErrors } from '#src/purchase/purchase.errors.ts'
import type { Delivery, DeliverySummary, Fate, Store, Webhook, WebhookFilter } from '#src/store/store.ts'
import { isWanted } from '#src/store/store.ts'
import type { ChosenOrder, createChosen } from './chosen.ts'
import { nextTryOf } from './progress.ts'

export const FATES = ['confirmed', 'waiting', 'failing', 'set-aside', 'not-wanted', 'purged'] as const

/** What became of a delivery at an endpoint. */
export interface Told {
  readonly receiptId: string
  /** Null for a delivery that the store no longer has. */
  readonly delivery: Pick<DeliverySummary, 'orderId' | 'status' | 'duplicate' | 'receivedAt'> | null
  readonly state: (typeof FATES)[number]
  /** When it was confirmed, failed first or was set aside; null if that is not known. */
  readonly at: number | null
  /** Of the answer that confirmed it. */
  readonly answer: { readonly status: number; readonly milliseconds: number } | null
  readonly failures: number
  readonly error: string | null
  readonly nextTryAt: number | null
}

/** Of an order, the newest. */
const MAX_TOLD = 500

/** Tells what became of a delivery, or of the deliveries of an order, the newest first. */
export function createFates(
  { webhooks, purges }: Pick<Store, 'webhooks' | 'purges'>,
  clock: Clock,
  chosen: ReturnType<typeof createChosen>,
) {
  /** Only a guess: nothing is kept of a delivery that a purge removed. */
  const mayBePurged = async (receiptId: string): Promise<boolean> => {
    const { position } = await purges.state()
    const receivedAt = timeOfId(receiptId)
    if (position === 0 || receivedAt === undefined) return false
    return receivedAt < ((await purges.receivedAfter(position)) ?? clock.now())
  }

  const tell = async (webhook: Webhook, some: readonly (Delivery | DeliverySummary)[]): Promise<Told[]> => {
    const positions = some.map(({ position }) => position)
    const fates = await webhooks.fates(webhook.id, positions)
    return some.map((delivery) => ({
      receiptId: delivery.receiptId,
      delivery,
      ...NOTHING_KNOWN,
      ...fateOf(webhook, fates.get(delivery.position), delivery),
    }))
  }

  const newestOf = async (of: Pick<Webhook, 'customerId'>, order: ChosenOrder): Promise<DeliverySummary[]> =>
    (await chosen.order(of, order).next()).value ?? []

  return async (webhook: Webhook, which: ChosenOrder | { readonly receiptId: string }): Promise<Told[]> => {
    if ('orderId' in which) {
      const found = await newestOf(webhook, which).catch((error) => {
        if (!(error instanceof AppError) || error.code !== purchaseErrors.orderNotFound.code) throw error
        // One of another customer, which the endpoint does not get.
        return newestOf({ customerId: null }, which)
      })
      return tell(webhook, found.slice(0, MAX_TOLD))
    }
    const { receiptId } = which
    const found = await chosen.receipt(receiptId)
    if (found !== undefined) return tell(webhook, [found])
    if (!(await mayBePurged(receiptId))) throw new AppError(purchaseErrors.deliveryNotFound)
    return [{ receiptId: receiptId.toLowerCase(), delivery: null, state: 'purged', ...NOTHING_KNOWN }]
  }
}

const NOTHING_KNOWN = { at: null, answer: null, failures: 0, error: null, nextTryAt: null }

/** The filter that was in force when the endpoint came to a delivery. */
const filterAt = (webhook: Webhook, position: number): WebhookFilter =>
  webhook.formerFilters.find(({ until }) => until === null || position <= until) ?? webhook

/** A delivery that the store knows nothing of was confirmed before the journal begins, or not wanted. */
function fateOf(
  webhook: Webhook,
  fate: Fate | undefined,
  delivery: Delivery | DeliverySummary,
): Partial<Told> & Pick<Told, 'state'> {
  switch (fate?.state) {
    case undefined:
      return { state: isWanted(filterAt(webhook, delivery.position), delivery) ? 'confirmed' : 'not-wanted' }
    case 'unread':
      return { state: isWanted(webhook, delivery) ? 'waiting' : 'not-wanted' }
    case 'confirmed':
      return { state: 'confirmed', at: fate.at, answer: { status: fate.status, milliseconds: fate.milliseconds } }
    case 'kept': {
      const { failures, firstFailedAt, setAsideAt, lastError: error, nextAt } = fate.delivery
      const state = setAsideAt !== null ? 'set-aside' : failures > 0 ? 'failing' : 'waiting'
      return { state, at: setAsideAt ?? firstFailedAt, failures, error, nextTryAt: nextTryOf(webhook, nextAt) }
    }
  }
}
