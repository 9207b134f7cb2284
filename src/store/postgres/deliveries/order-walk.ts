import { orderFromRow } from '#src/store/shared/rows.ts'
import { NO_LIMIT } from '#src/store/shared/walks.ts'
import type { Bounds, Filter, Order, OrderPlace } from '#src/store/store.ts'
import type { Row } from '../database.ts'
import { BY_POSITION } from './by-position.ts'

/**
 * Walks through `$5` orders and returns those that the filter lets through, and always the last two. The inner LIMIT keeps the
 * planner from using another index for values that it believes to be rare.
 */
const ORDERS_AMONG = (walk: string): string => `
  SELECT looked.count, c.id AS customer_id, looked.order_id, looked.status, looked.state_position AS position, d.receipt, d.received_at,
         d.payload_bytes
    FROM (SELECT *, row_number() OVER (ORDER BY customer, order_id) AS count FROM (${walk} LIMIT $5::bigint) l) looked
    LEFT JOIN ${BY_POSITION('looked.state_position')}
    JOIN customer c ON c.number = looked.customer
   WHERE (looked.status = coalesce($6::smallint, looked.status) OR looked.count >= $5 - 1)
     AND (d.received_at >= $7::bigint AND d.received_at < $8::bigint OR looked.count >= $5 - 1)
   ORDER BY looked.count
   LIMIT $9`

export const ORDERS = ORDERS_AMONG(`
  SELECT customer, order_id, status, state_position
    FROM order_state
   WHERE (customer, order_id) > ($1::bigint, $2::text) AND (customer, order_id) <= ($3::bigint, $4::text)
   ORDER BY customer, order_id`)

/** Finds one order id of many customers by walking through the customers. */
export const NAMED_ORDERS = ORDERS_AMONG(`
  SELECT c.number AS customer, $4::text AS order_id, o.status, o.state_position
    FROM customer c
    LEFT JOIN LATERAL (
      SELECT status, state_position FROM order_state WHERE customer = c.number AND order_id = $4 LIMIT 1
    ) o ON true
   WHERE c.number > $1::bigint AND c.number <= $3::bigint AND $2::text IS NOT NULL
   ORDER BY c.number`)

/** A place that a walk through orders came to, and the order if there is one. */
interface LookedAt {
  /** Place in the walk, counted from 1. */
  readonly count: number
  readonly place: OrderPlace
  readonly order: Order | undefined
}

export const lookedAtFromRow = (row: Row): LookedAt => ({
  count: row.count as number,
  place: { customerId: row.customer_id as string, orderId: row.order_id as string },
  order: row.receipt === null ? undefined : orderFromRow(row),
})

/** `walk` includes the last order looked at and the one after it, whether or not the filter lets them through. */
export function orderPage(
  walk: readonly LookedAt[],
  { status, from = 0, to = NO_LIMIT }: Filter,
  { most, look }: Bounds,
) {
  const fitting = walk.filter(
    ({ count, order }) =>
      count <= look &&
      order !== undefined &&
      (status === undefined || order.status === status) &&
      order.receivedAt >= from &&
      order.receivedAt < to,
  )
  const shown = fitting.slice(0, most)
  const more = walk.some(({ count }) => count > look)
  const last = fitting.length > most ? shown.at(-1) : more ? walk.find(({ count }) => count === look) : undefined
  const orders = shown.map(({ order }) => order).filter((order) => order !== undefined)
  return { orders, next: last?.place ?? null }
}
