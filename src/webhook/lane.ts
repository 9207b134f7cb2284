import { hash } from 'node:crypto'
import type { DeliverySummary, Laned } from '#src/store/store.ts'

/**
 * Deliveries of one order are a lane, and one without an order id is a lane of its own. Orders whose digests are alike wait for each
 * other, which does no harm. Order ids themselves would have to be erased in one more place.
 */
export const laneOf = (customerId: string, orderId: string | null, position: number): number =>
  orderId === null ? -position : Number.parseInt(hash('sha256', `${customerId} ${orderId}`).slice(0, 12), 16)

type Ordered = Pick<DeliverySummary, 'customerId' | 'orderId' | 'position'>

export const laned = ({ customerId, orderId, position }: Ordered): Laned => ({
  position,
  lane: laneOf(customerId, orderId, position),
})
