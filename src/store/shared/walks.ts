import type { Bounds, Customer, CustomerFilter, DeliverySummary, Filter, OrderPlace } from '../store.ts'

/** Larger than any customer number, count or time in a store. */
export const NO_LIMIT = Number.MAX_SAFE_INTEGER

/** Stands for the number of an unknown customer. It is larger than any customer number, so nothing is found. */
export const NOBODY = Number.MAX_SAFE_INTEGER

/** The numbers of the customers that a walk through orders is about. */
export interface NumberedWalk {
  /** The customer of the order after which it begins. */
  readonly after: number | undefined
  /** The customer whose orders are wanted; undefined for all. */
  readonly only: number | undefined
}

/** Returns two pairs of customer number and order id: the first exclusive, the second inclusive. No order id is empty. */
export function orderRange(
  { after, only }: NumberedWalk,
  place: OrderPlace | null,
  { orderId }: Filter,
): [number, string, number, string] {
  if (orderId !== undefined) return [after ?? (only ?? 1) - 1, '', only ?? NO_LIMIT, orderId]
  return [after ?? only ?? 0, place?.orderId ?? '', only === undefined ? NO_LIMIT : only + 1, '']
}

/** Returns the position up to which a walk through deliveries looks, from the row found for it. */
export const endOfWalk = (after: number, found: Readonly<Record<string, unknown>> | undefined): number =>
  Math.max(after, Number(found?.position ?? 0))

/** The values that SQL takes for a filter: NULL lets everything through. */
export function filterValues({ customerId, orderId, status, from, to, duplicate }: Filter) {
  const echo = duplicate === undefined ? null : Number(duplicate)
  return [customerId ?? null, orderId ?? null, status ?? null, from ?? null, to ?? null, echo] as const
}

/** Sorts after every id. */
export const LAST_ID = '\u{10ffff}'

/** The values that SQL takes for a filter of customers: NULL lets everything through. */
export const customerFilterValues = ({ text, isApi, operator, readOnly, enabled, removed }: CustomerFilter) =>
  [text, isApi, operator, readOnly, enabled, removed].map((value) => value ?? null)

/** Continues after the last customer of a full page, and after all that the walk looked at otherwise: up to `end`, if not to the last. */
export const customerPage = (customers: Customer[], end: string | undefined, { most }: Bounds) => ({
  customers,
  next: (customers.length === most ? customers.at(-1)?.id : end) ?? null,
})

/** Continues after the last delivery of a full page, and after all that the walk looked at otherwise. */
export const deliveryPage = (deliveries: DeliverySummary[], end: number, { most }: Bounds) => ({
  deliveries,
  position: deliveries.length === most ? (deliveries.at(-1)?.position ?? end) : end,
})

/** The same for a walk backwards: `end` is the oldest position that it looked at. */
export const pageBefore = (deliveries: DeliverySummary[], end: number, { most }: Pick<Bounds, 'most'>) => ({
  deliveries,
  position: deliveries.length === most ? (deliveries.at(-1)?.position ?? end) : end,
})

/** Deliveries of one order that `statesAt` goes back through. */
export const MOST_SINCE = 10_000

/** Returns those of `positions` among the rows of `statesAt`, where 0 stands for an order with too many deliveries. */
export function statesAmong(
  positions: readonly number[],
  rows: readonly Readonly<Record<string, unknown>>[],
): number[] | undefined {
  const states = new Set(rows.map(({ position }) => position as number))
  return states.has(0) ? undefined : positions.filter((position) => states.has(position))
}

/**
 * Returns the position of the delivery that made an order's state, if what stood between it and the last row of a history was
 * purged.
 */
export function keptState(rows: readonly Readonly<Record<string, unknown>>[]): number | undefined {
  const { previous = null, position = 0, state_position: state } = rows.at(-1) ?? {}
  return previous !== null && Number(state) < Number(position) ? Number(state) : undefined
}
