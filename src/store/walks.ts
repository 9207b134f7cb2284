import type { Bounds, DeliverySummary, Filter, OrderPlace } from './store.ts'

/** Where a walk through deliveries or orders begins and ends, which both databases work out alike. */

/** Larger than any number, count or time that a store holds. */
export const NO_LIMIT = Number.MAX_SAFE_INTEGER

/** The number of a customer that is not there: no customer has it, and none after it. */
export const NOBODY = Number.MAX_SAFE_INTEGER

/** The numbers of the customers that a walk through orders names. */
export interface NumberedWalk {
  /** The customer of the last order seen. */
  readonly after: number | undefined
  /** The only customer whose orders are wanted. */
  readonly only: number | undefined
}

/** Beyond the first customer number and order id, up to and with the second. No order id is empty. */
export function orderRange(
  { after, only }: NumberedWalk,
  place: OrderPlace | null,
  { orderId }: Filter,
): [number, string, number, string] {
  if (orderId !== undefined) return [after ?? (only ?? 1) - 1, '', only ?? NO_LIMIT, orderId]
  return [after ?? only ?? 0, place?.orderId ?? '', only === undefined ? NO_LIMIT : only + 1, '']
}

/** The position up to which a walk looks. `found` is the row with the position at which it ends. */
export const endOfWalk = (after: number, found: Readonly<Record<string, unknown>> | undefined): number =>
  Math.max(after, Number(found?.position ?? 0))

/** The values that SQL takes for a filter: NULL lets everything through. */
export function filterValues({ customerId, orderId, status, from, to }: Filter) {
  return [customerId ?? null, orderId ?? null, status ?? null, from ?? null, to ?? null] as const
}

/** With as many deliveries as asked for, the walk goes on after the last of them. */
export const deliveryPage = (deliveries: DeliverySummary[], end: number, { most }: Bounds) => ({
  deliveries,
  position: deliveries.length === most ? (deliveries.at(-1)?.position ?? end) : end,
})
