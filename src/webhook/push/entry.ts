import type { FeedPlace } from '#src/purchase/feed-place.ts'
import type { DeliverySummary, LoadedWebhook, WaitingDelivery, Webhook } from '#src/store/store.ts'
import type { Queued } from './lanes.ts'
import type { Slot } from './window.ts'

/** A delivery on its way to the endpoint. */
export interface Pushed extends Queued {
  readonly receiptId: string
  readonly receivedAt: number
  /** Failed attempts in all. */
  readonly failures: number
}

export interface Entry extends Pushed {
  failures: number
  /** Failed attempts since the endpoint came back: they make the pauses longer. */
  level: number
  firstFailedAt: number | null
  nextAt: number | null
  lastError: string | null
  isWaiting: boolean
  /** Undefined while the delivery was not read from the feed by this process. */
  slot: Slot | undefined
  wasTrial: boolean
}

export type NewEntry = Pick<Entry, 'position' | 'receiptId' | 'receivedAt' | 'lane'>

/** Where an endpoint stood when it was loaded. */
export interface Start {
  readonly id: string
  readonly epoch: number
  readonly place: FeedPlace
  readonly confirmed: readonly number[]
  readonly waiting: readonly (NewEntry & Omit<WaitingDelivery, 'position'>)[]
  readonly giveUpMilliseconds: number | null
  readonly lastSuccessAt: number | null
  readonly failingSince: number | null
}

/** How an attempt failed. */
export interface Failure {
  readonly status: number | null
  readonly error: string
  readonly retryAfterMilliseconds: number | null
  readonly gone: boolean
  readonly milliseconds: number
  readonly response: string | null
}

export const NO_ATTEMPT = {
  position: null,
  receiptId: null,
  status: null,
  milliseconds: 0,
  response: null,
  nextAt: null,
}

export const rowOf = (entry: Entry, setAsideAt: number | null): WaitingDelivery => ({
  position: entry.position,
  failures: entry.failures,
  firstFailedAt: entry.firstFailedAt,
  nextAt: entry.nextAt,
  setAsideAt,
  lastError: entry.lastError,
})

export const newEntry = (item: NewEntry, slot: Slot): Entry => ({
  ...item,
  failures: 0,
  level: 0,
  firstFailedAt: null,
  nextAt: null,
  lastError: null,
  isWaiting: false,
  triedAt: undefined,
  notBefore: 0,
  slot,
  wasTrial: false,
})

/** A delivery that was stored as waiting. */
export const waitingEntry = (row: Start['waiting'][number]): Entry => ({
  ...row,
  level: row.failures,
  isWaiting: true,
  triedAt: row.failures > 0 ? -1 : undefined,
  notBefore: 0,
  slot: undefined,
  wasTrial: false,
})

/** Deliveries of one order go one after the other; those without an order id go on their own. */
export const laneOf = ({ customerId, orderId, position }: DeliverySummary): string =>
  orderId === null ? `${position}` : `${customerId} ${orderId}`

/** Where an endpoint stands, and the positions of what waited and was purged. */
export function startOf(
  { id, epoch, place, giveUpMilliseconds, lastSuccessAt, failingSince }: Webhook,
  { confirmed, waiting }: Omit<LoadedWebhook, 'webhook'>,
): { readonly start: Start; readonly purged: number[] } {
  const rows = waiting.flatMap(({ delivery, ...row }) => {
    if (delivery === null) return []
    const { receiptId, receivedAt } = delivery
    return [{ ...row, receiptId, receivedAt, lane: laneOf(delivery) }]
  })
  const purged = waiting.filter(({ delivery }) => delivery === null).map(({ position }) => position)
  const known = { id, epoch, place, confirmed, giveUpMilliseconds, lastSuccessAt, failingSince }
  return { start: { ...known, waiting: rows }, purged }
}
