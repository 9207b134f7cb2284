import type { Bounds, DeliverySummary, Filter, HistoryPage, Order, OrderPlace } from '#src/store/store.ts'
import type { Query, Row } from '../database.ts'
import { receiptFromRow, summaryFromRow } from './columns.ts'

/** A look-up for each row, whatever the planner may think of how many there are. */
const BY_POSITION = (position: string): string => `
  LATERAL (
    SELECT position, previous, customer, order_id, receipt, status, received_at, echo_of, octet_length(payload) AS payload_bytes
      FROM delivery WHERE position = ${position} LIMIT 1
  ) d ON true`

const HISTORY = `
  WITH RECURSIVE chain AS (
    SELECT 1::bigint AS place, d.*
      FROM order_state s JOIN ${BY_POSITION('coalesce($1::bigint, s.latest_position)')}
     WHERE s.customer = (SELECT number FROM customer WHERE id = $2) AND s.order_id = $3
       AND d.customer = s.customer AND d.order_id = s.order_id
    UNION ALL
    SELECT place + 1, d.* FROM chain JOIN ${BY_POSITION('chain.previous')} WHERE place < $4::bigint
  )
  SELECT d.*, c.id AS customer_id FROM chain d JOIN customer c ON c.number = d.customer ORDER BY d.place`

/**
 * Looks at `$5 - 1` orders and one more, and answers with those that fit and the last two. The LIMIT within keeps the planner
 * from looking anywhere else for what it believes to be rare.
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

const ORDERS = ORDERS_AMONG(`
  SELECT customer, order_id, status, state_position
    FROM order_state
   WHERE (customer, order_id) > ($1::bigint, $2::text) AND (customer, order_id) <= ($3::bigint, $4::text)
   ORDER BY customer, order_id`)

/** One order id of many customers: walks through the customers. */
const NAMED_ORDERS = ORDERS_AMONG(`
  SELECT c.number AS customer, $4::text AS order_id, o.status, o.state_position
    FROM customer c
    LEFT JOIN LATERAL (
      SELECT status, state_position FROM order_state WHERE customer = c.number AND order_id = $4 LIMIT 1
    ) o ON true
   WHERE c.number > $1::bigint AND c.number <= $3::bigint AND $2::text IS NOT NULL
   ORDER BY c.number`)

const AFTER = `
  SELECT d.position, d.receipt, c.id AS customer_id, d.order_id, d.status, d.received_at, d.echo_of,
         octet_length(d.payload) AS payload_bytes
    FROM delivery d JOIN customer c ON c.number = d.customer
   WHERE d.position > $1::bigint AND d.position <= $2::bigint
     AND ($3::text IS NULL OR d.customer = (SELECT number FROM customer WHERE id = $3))
     AND ($4::text IS NULL OR d.order_id = $4) AND ($5::smallint IS NULL OR d.status = $5)
     AND ($6::bigint IS NULL OR d.received_at >= $6) AND ($7::bigint IS NULL OR d.received_at < $7)
   ORDER BY d.position
   LIMIT $8`

const AFTER_END = `
  SELECT coalesce(
    (SELECT position FROM delivery WHERE position > $1::bigint ORDER BY position LIMIT 1 OFFSET $2),
    (SELECT max(position) FROM delivery)) AS position`

const PAYLOADS = `
  SELECT w.position, d.payload
    FROM unnest($1::bigint[]) w (position)
    JOIN LATERAL (SELECT payload FROM delivery WHERE position = w.position LIMIT 1) d
      ON $2::bytea IS NULL OR position($2 IN d.payload) > 0 OR position('\\x5c'::bytea IN d.payload) > 0`

const NUMBER = 'SELECT number FROM customer WHERE id = $1'

/** Beyond every customer's number. */
const NOBODY = Number.MAX_SAFE_INTEGER
const END_OF_TIME = Number.MAX_SAFE_INTEGER

/** Everything that walks through deliveries or orders. */
export function deliveryReads(query: Query) {
  const numberOf = async (customerId: string): Promise<number> =>
    ((await query(NUMBER, customerId)).rows[0]?.number as number | undefined) ?? NOBODY

  /** Beyond the first place and up to the second one. No order id is empty. */
  const range = async (after: OrderPlace | null, { customerId, orderId }: Filter) => {
    const only = customerId === undefined ? undefined : await numberOf(customerId)
    const last = after === null ? undefined : await numberOf(after.customerId)
    if (orderId !== undefined) return [last ?? (only ?? 1) - 1, '', only ?? NOBODY, orderId] as const
    return [last ?? only ?? 0, after?.orderId ?? '', only === undefined ? NOBODY : only + 1, ''] as const
  }

  return {
    async history(customerId: string, orderId: string, page?: HistoryPage): Promise<DeliverySummary[]> {
      const { rows } = await query(HISTORY, page?.from ?? null, customerId, orderId, page?.most ?? NOBODY)
      return rows.map(summaryFromRow)
    },

    async orders(after: OrderPlace | null, filter: Filter, bounds: Bounds) {
      const { orderId, status = null, from = 0, to = END_OF_TIME } = filter
      const sql = orderId === undefined ? ORDERS : NAMED_ORDERS
      const places = await range(after, filter)
      const { rows } = await query(sql, ...places, bounds.look + 1, status, from, to, bounds.most + 2)
      return orderPage(rows.map(lookedAtFromRow), filter, bounds)
    },

    async after(position: number, filter: Filter, { most, look }: Bounds) {
      const end = Math.max(position, Number((await query(AFTER_END, position, look - 1)).rows[0]?.position ?? 0))
      const { customerId = null, orderId = null, status = null, from = null, to = null } = filter
      const { rows } = await query(AFTER, position, end, customerId, orderId, status, from, to, most)
      const deliveries = rows.map(summaryFromRow)
      return { deliveries, position: rows.length === most ? (deliveries.at(-1)?.position ?? end) : end }
    },

    async payloads(positions: readonly number[], holding?: string): Promise<Map<number, Uint8Array>> {
      const { rows } = await query(PAYLOADS, positions, holding === undefined ? null : Buffer.from(holding))
      return new Map(rows.map(({ position, payload }) => [position as number, payload as Uint8Array]))
    },
  }
}

/** What a walk through orders came by, with the order where one stands at that place. */
interface LookedAt {
  /** From 1. */
  readonly count: number
  readonly place: OrderPlace
  readonly order: Order | undefined
}

const lookedAtFromRow = (row: Row): LookedAt => {
  const place = { customerId: row.customer_id as string, orderId: row.order_id as string }
  const { receiptId, status, receivedAt } = receiptFromRow(row)
  const [position, payloadBytes] = [row.position as number, row.payload_bytes as number]
  const order = { ...place, status, receiptId, receivedAt, position, payloadBytes }
  return { count: row.count as number, place, order: row.receipt === null ? undefined : order }
}

/** The last order that was looked at, and the one after it, are there whether or not they fit. */
function orderPage(walk: readonly LookedAt[], { status, from = 0, to = END_OF_TIME }: Filter, { most, look }: Bounds) {
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
