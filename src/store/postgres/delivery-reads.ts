import type { Bounds, DeliverySummary, Filter, HistoryPage, Order, OrderPlace } from '../store.ts'
import type { Query, Row } from './database.ts'
import { receiptFromRow, summaryFromRow } from './delivery-sql.ts'

/** A look-up for each row, whatever the planner may think of how many there are. */
const BY_POSITION = (position: string): string => `
  JOIN LATERAL (
    SELECT position, previous, customer, order_id, receipt, status, received_at, echo_of, octet_length(payload) AS payload_bytes
      FROM delivery WHERE position = ${position} LIMIT 1
  ) d ON true`

const HISTORY = `
  WITH RECURSIVE chain AS (
    SELECT 1::bigint AS place, d.*
      FROM order_state s ${BY_POSITION('coalesce($1::bigint, s.latest_position)')}
     WHERE s.customer = (SELECT number FROM customer WHERE id = $2) AND s.order_id = $3
       AND d.customer = s.customer AND d.order_id = s.order_id
    UNION ALL
    SELECT place + 1, d.* FROM chain ${BY_POSITION('chain.previous')} WHERE place < $4::bigint
  )
  SELECT d.*, c.id AS customer_id FROM chain d JOIN customer c ON c.number = d.customer ORDER BY d.place`

const ORDER_COLUMNS = `
  c.id AS customer_id, s.order_id, s.status, s.state_position AS position, d.receipt, d.received_at, d.payload_bytes`

const MATCHES = `
  AND ($5::smallint IS NULL OR s.status = $5) AND ($6::bigint IS NULL OR d.received_at >= $6)
  AND ($7::bigint IS NULL OR d.received_at < $7)`

const ORDERS = `
  SELECT ${ORDER_COLUMNS}
    FROM order_state s ${BY_POSITION('s.state_position')} JOIN customer c ON c.number = s.customer
   WHERE (s.customer, s.order_id) > ($1::bigint, $2::text) AND (s.customer, s.order_id) <= ($3::bigint, $4::text) ${MATCHES}
   ORDER BY s.customer, s.order_id
   LIMIT $8`

/** The last order to be looked at, and one more if there is one. */
const ORDERS_END = `
  SELECT s.customer, s.order_id, (SELECT id FROM customer WHERE number = s.customer) AS customer_id
    FROM (
      SELECT customer, order_id
        FROM order_state
       WHERE (customer, order_id) > ($1::bigint, $2::text) AND (customer, order_id) <= ($3::bigint, $4::text)
       ORDER BY customer, order_id
       LIMIT 2 OFFSET $5
    ) s
   ORDER BY s.customer, s.order_id`

/** One order id of many customers: these are the two statements above, walking through the customers. */
const NAMED_ORDERS = `
  SELECT ${ORDER_COLUMNS}
    FROM customer c
    JOIN LATERAL (SELECT * FROM order_state WHERE customer = c.number AND order_id = $4::text LIMIT 1) s ON true
         ${BY_POSITION('s.state_position')}
   WHERE c.number > $1::bigint AND c.number <= $3::bigint AND $2::text IS NOT NULL ${MATCHES}
   ORDER BY c.number
   LIMIT $8`

const NAMED_ORDERS_END = `
  SELECT c.number AS customer, $4::text AS order_id, c.id AS customer_id
    FROM customer c
   WHERE c.number > $1::bigint AND c.number <= $3::bigint AND $2::text IS NOT NULL
   ORDER BY c.number
   LIMIT 2 OFFSET $5`

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
    JOIN LATERAL (SELECT payload FROM delivery WHERE position = w.position LIMIT 1) d ON true`

const NUMBER = 'SELECT number FROM customer WHERE id = $1'

/** Beyond every customer's number. */
const NOBODY = Number.MAX_SAFE_INTEGER

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

    async orders(after: OrderPlace | null, filter: Filter, { most, look }: Bounds) {
      const [all, end] = filter.orderId === undefined ? [ORDERS, ORDERS_END] : [NAMED_ORDERS, NAMED_ORDERS_END]
      const [fromCustomer, fromOrder, toCustomer, toOrder] = await range(after, filter)
      const [last, more] = (await query(end, fromCustomer, fromOrder, toCustomer, toOrder, look - 1)).rows
      const [endCustomer, endOrder] = more ? [last?.customer, last?.order_id] : [toCustomer, toOrder]
      const { status = null, from = null, to = null } = filter
      const { rows } = await query(all, fromCustomer, fromOrder, endCustomer, endOrder, status, from, to, most + 1)
      const orders = rows.slice(0, most).map((row): Order => {
        const { receiptId, status, receivedAt } = receiptFromRow(row)
        const { orderId, customerId } = placeFromRow(row)
        const [position, payloadBytes] = [row.position as number, row.payload_bytes as number]
        return { orderId, status, receiptId, receivedAt, customerId, position, payloadBytes }
      })
      const shown = rows.length > most ? rows[most - 1] : undefined
      return { orders, next: shown ? placeFromRow(shown) : more && last ? placeFromRow(last) : null }
    },

    async after(position: number, filter: Filter, { most, look }: Bounds) {
      const end = Math.max(position, Number((await query(AFTER_END, position, look - 1)).rows[0]?.position ?? 0))
      const { customerId = null, orderId = null, status = null, from = null, to = null } = filter
      const { rows } = await query(AFTER, position, end, customerId, orderId, status, from, to, most)
      const deliveries = rows.map(summaryFromRow)
      return { deliveries, position: rows.length === most ? (deliveries.at(-1)?.position ?? end) : end }
    },

    async payloads(positions: readonly number[]): Promise<Map<number, Uint8Array>> {
      const { rows } = await query(PAYLOADS, positions)
      return new Map(rows.map(({ position, payload }) => [position as number, payload as Uint8Array]))
    },
  }
}

const placeFromRow = (row: Row): OrderPlace => ({
  customerId: row.customer_id as string,
  orderId: row.order_id as string,
})
