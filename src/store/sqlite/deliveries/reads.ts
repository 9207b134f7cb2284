import type { Bounds, DeliverySummary, Filter, HistoryPage, Order, OrderPlace } from '#src/store/store.ts'
import type { Database } from '../database.ts'
import { receiptFromRow, summaryFromRow } from './columns.ts'

/** CROSS JOIN throughout: SQLite then joins in the order that is written, so that no statistics can turn it round. */
const HISTORY = `
  WITH RECURSIVE chain AS (
    SELECT 1 AS place, d.position, d.previous, d.customer, d.order_id, d.receipt, d.status, d.received_at, d.echo_of,
           length(d.payload) AS payload_bytes
      FROM order_state s CROSS JOIN delivery d ON d.position = coalesce($1, s.latest_position)
     WHERE s.customer = (SELECT number FROM customer WHERE id = $2) AND s.order_id = $3
       AND d.customer = s.customer AND d.order_id = s.order_id
    UNION ALL
    SELECT place + 1, d.position, d.previous, d.customer, d.order_id, d.receipt, d.status, d.received_at, d.echo_of,
           length(d.payload)
      FROM chain CROSS JOIN delivery d ON d.position = chain.previous
     WHERE place < $4
  )
  SELECT d.position, hex(d.receipt) AS receipt, c.id AS customer_id, d.order_id, d.status, d.received_at, d.echo_of,
         d.payload_bytes
    FROM chain d CROSS JOIN customer c ON c.number = d.customer
   ORDER BY d.place`

const ORDER_COLUMNS = `
  s.customer, c.id AS customer_id, s.order_id, s.status, s.state_position AS position, hex(d.receipt) AS receipt,
  d.received_at, length(d.payload) AS payload_bytes`

const MATCHES = `
  AND ($5 IS NULL OR s.status = $5) AND ($6 IS NULL OR d.received_at >= $6) AND ($7 IS NULL OR d.received_at < $7)`

const ORDERS = `
  SELECT ${ORDER_COLUMNS}
    FROM order_state s CROSS JOIN delivery d ON d.position = s.state_position CROSS JOIN customer c ON c.number = s.customer
   WHERE (s.customer, s.order_id) > ($1, $2) AND (s.customer, s.order_id) <= ($3, $4) ${MATCHES}
   ORDER BY s.customer, s.order_id
   LIMIT $8`

/** The last order to be looked at, and one more if there is one. */
const ORDERS_END = `
  SELECT s.customer, s.order_id, (SELECT id FROM customer WHERE number = s.customer) AS customer_id
    FROM order_state s
   WHERE (s.customer, s.order_id) > ($1, $2) AND (s.customer, s.order_id) <= ($3, $4)
   ORDER BY s.customer, s.order_id
   LIMIT 2 OFFSET $5`

/** One order id of many customers: these are the two statements above, walking through the customers. */
const NAMED_ORDERS = `
  SELECT ${ORDER_COLUMNS}
    FROM customer c CROSS JOIN order_state s ON s.customer = c.number AND s.order_id = $4
   CROSS JOIN delivery d ON d.position = s.state_position
   WHERE c.number > $1 AND c.number <= $3 AND $2 IS NOT NULL ${MATCHES}
   ORDER BY c.number
   LIMIT $8`

const NAMED_ORDERS_END = `
  SELECT c.number AS customer, $4 AS order_id, c.id AS customer_id
    FROM customer c
   WHERE c.number > $1 AND c.number <= $3 AND $2 IS NOT NULL
   ORDER BY c.number
   LIMIT 2 OFFSET $5`

const AFTER = `
  SELECT d.position, hex(d.receipt) AS receipt, c.id AS customer_id, d.order_id, d.status, d.received_at, d.echo_of,
         length(d.payload) AS payload_bytes
    FROM delivery d CROSS JOIN customer c ON c.number = d.customer
   WHERE d.position > $1 AND d.position <= $2
     AND ($3 IS NULL OR d.customer = (SELECT number FROM customer WHERE id = $3))
     AND ($4 IS NULL OR d.order_id = $4) AND ($5 IS NULL OR d.status = $5)
     AND ($6 IS NULL OR d.received_at >= $6) AND ($7 IS NULL OR d.received_at < $7)
   ORDER BY d.position
   LIMIT $8`

const AFTER_END = `
  SELECT coalesce(
    (SELECT position FROM delivery WHERE position > $1 ORDER BY position LIMIT 1 OFFSET $2),
    (SELECT max(position) FROM delivery)) AS position`

const PAYLOADS = `
  SELECT position, payload FROM json_each($1) CROSS JOIN delivery ON position = json_each.value
   WHERE $2 IS NULL OR instr(payload, $2) > 0 OR instr(payload, x'5c') > 0`

/** Beyond every customer's number. */
const NOBODY = Number.MAX_SAFE_INTEGER

/** Everything that walks through deliveries or orders. Runs in the reader worker. */
export function deliveryReads(database: Database) {
  const numberOf = (customerId: string): number =>
    (database.get('SELECT number FROM customer WHERE id = $1', customerId)?.number as number | undefined) ?? NOBODY

  /** Beyond the first place and up to the second one. No order id is empty. */
  const range = (after: OrderPlace | null, { customerId, orderId }: Filter): [number, string, number, string] => {
    const only = customerId === undefined ? undefined : numberOf(customerId)
    if (orderId !== undefined) {
      const first = after !== null ? numberOf(after.customerId) : only === undefined ? 0 : only - 1
      return [first, '', only ?? NOBODY, orderId]
    }
    const last = only === undefined ? NOBODY : only + 1
    return after === null ? [only ?? 0, '', last, ''] : [numberOf(after.customerId), after.orderId, last, '']
  }

  return {
    history(customerId: string, orderId: string, page?: HistoryPage): DeliverySummary[] {
      const rows = database.all(HISTORY, page?.from ?? null, customerId, orderId, page?.most ?? NOBODY)
      return rows.map(summaryFromRow)
    },

    orders(
      after: OrderPlace | null,
      filter: Filter,
      { most, look }: Bounds,
    ): { orders: Order[]; next: OrderPlace | null } {
      const [all, end] = filter.orderId === undefined ? [ORDERS, ORDERS_END] : [NAMED_ORDERS, NAMED_ORDERS_END]
      const [fromCustomer, fromOrder, toCustomer, toOrder] = range(after, filter)
      const [last, more] = database.all(end, fromCustomer, fromOrder, toCustomer, toOrder, look - 1)
      const [endCustomer, endOrder] = more
        ? [last?.customer as number, last?.order_id as string]
        : [toCustomer, toOrder]
      const { status = null, from = null, to = null } = filter
      const rows = database.all(all, fromCustomer, fromOrder, endCustomer, endOrder, status, from, to, most + 1)
      const orders = rows.slice(0, most).map((row): Order => {
        const { receiptId, status, receivedAt } = receiptFromRow(row)
        const { orderId, customerId } = placeFromRow(row)
        const [position, payloadBytes] = [row.position as number, row.payload_bytes as number]
        return { orderId, status, receiptId, receivedAt, customerId, position, payloadBytes }
      })
      const shown = rows.length > most ? rows[most - 1] : undefined
      return { orders, next: shown ? placeFromRow(shown) : more && last ? placeFromRow(last) : null }
    },

    after(
      position: number,
      filter: Filter,
      { most, look }: Bounds,
    ): { deliveries: DeliverySummary[]; position: number } {
      const end = Math.max(position, Number(database.get(AFTER_END, position, look - 1)?.position ?? 0))
      const { customerId = null, orderId = null, status = null, from = null, to = null } = filter
      const rows = database.all(AFTER, position, end, customerId, orderId, status, from, to, most)
      const deliveries = rows.map(summaryFromRow)
      return { deliveries, position: rows.length === most ? (deliveries.at(-1)?.position ?? end) : end }
    },

    payloads(positions: readonly number[], holding?: string): Map<number, Uint8Array> {
      const bytes = holding === undefined ? null : Buffer.from(holding)
      const rows = database.all(PAYLOADS, JSON.stringify(positions), bytes)
      return new Map(rows.map(({ position, payload }) => [position as number, payload as Uint8Array]))
    },
  }
}

const placeFromRow = (row: { readonly [name: string]: unknown }): OrderPlace => ({
  customerId: row.customer_id as string,
  orderId: row.order_id as string,
})
