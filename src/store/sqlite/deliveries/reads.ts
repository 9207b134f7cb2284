import { REQUEST_START, requestIn } from '#src/store/shared/origins.ts'
import { orderFromRow, summaryFromRow } from '#src/store/shared/rows.ts'
import { uuidFrom } from '#src/store/shared/uuid.ts'
import {
  deliveryPage,
  endOfWalk,
  filterValues,
  keptState,
  MOST_SINCE,
  NO_LIMIT,
  NOBODY,
  orderRange,
  pageBefore,
  statesAmong,
} from '#src/store/shared/walks.ts'
import type { Bounds, DeliveryStore, Filter, OrderPlace } from '#src/store/store.ts'
import type { Database, Row } from '../database.ts'
import type { Operations } from '../thread/operations.ts'
import { positionsBefore } from './block-walk.ts'

/** CROSS JOIN, here and below, makes SQLite join in the order that is written, whatever its statistics say. */
const HISTORY = `
  WITH RECURSIVE chain AS (
    SELECT 1 AS place, s.state_position, d.position, d.previous, d.customer, d.order_id, d.receipt, d.status, d.received_at,
           d.echo_of, length(d.payload) AS payload_bytes
      FROM order_state s CROSS JOIN delivery d ON d.position = coalesce($1, s.latest_position)
     WHERE s.customer = (SELECT number FROM customer WHERE id = $2) AND s.order_id = $3
       AND d.customer = s.customer AND d.order_id = s.order_id
    UNION ALL
    SELECT place + 1, state_position, d.position, d.previous, d.customer, d.order_id, d.receipt, d.status, d.received_at,
           d.echo_of, length(d.payload)
      FROM chain CROSS JOIN delivery d ON d.position = chain.previous
     WHERE place < $4
  )
  SELECT d.position, hex(d.receipt) AS receipt, c.id AS customer_id, d.order_id, d.status, d.received_at, d.echo_of,
         c.erased_at IS NOT NULL AS erased, d.payload_bytes, d.previous, d.state_position
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

/** Finds the last order to look at, and the next one if there is one. */
const ORDERS_END = `
  SELECT s.customer, s.order_id, (SELECT id FROM customer WHERE number = s.customer) AS customer_id
    FROM order_state s
   WHERE (s.customer, s.order_id) > ($1, $2) AND (s.customer, s.order_id) <= ($3, $4)
   ORDER BY s.customer, s.order_id
   LIMIT 2 OFFSET $5`

/** The two statements above for one order id of many customers: they walk through the customers. */
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

const SUMMARY_COLUMNS = `
  d.position, hex(d.receipt) AS receipt, c.id AS customer_id, d.order_id, d.status, d.received_at, d.echo_of,
  c.erased_at IS NOT NULL AS erased, length(d.payload) AS payload_bytes`

const FITS = `
  AND ($3 IS NULL OR d.customer = (SELECT number FROM customer WHERE id = $3))
  AND ($4 IS NULL OR d.order_id = $4) AND ($5 IS NULL OR d.status = $5)
  AND ($6 IS NULL OR d.received_at >= $6) AND ($7 IS NULL OR d.received_at < $7)
  AND ($8 IS NULL OR (d.echo_of IS NOT NULL) = $8)`

const AFTER = `
  SELECT ${SUMMARY_COLUMNS}
    FROM delivery d CROSS JOIN customer c ON c.number = d.customer
   WHERE d.position > $1 AND d.position <= $2 ${FITS}
   ORDER BY d.position
   LIMIT $9`

const AFTER_END = `
  SELECT coalesce(
    (SELECT position FROM delivery WHERE position > $1 ORDER BY position LIMIT 1 OFFSET $2),
    (SELECT max(position) FROM delivery)) AS position`

export const BEFORE = `
  SELECT ${SUMMARY_COLUMNS}
    FROM delivery d CROSS JOIN customer c ON c.number = d.customer
   WHERE d.position < $1 AND d.position >= $2 ${FITS}
   ORDER BY d.position DESC
   LIMIT $9`

const BEFORE_END = `
  SELECT position FROM delivery WHERE position < $1 ORDER BY position DESC LIMIT 1 OFFSET $2`

/** Takes positions in the order in which it returns them. */
const AT = `
  SELECT ${SUMMARY_COLUMNS}
    FROM json_each($1) CROSS JOIN delivery d ON d.position = json_each.value CROSS JOIN customer c ON c.number = d.customer
   WHERE $2 IS NOT NULL ${FITS}
   LIMIT $9`

/** An order that changed since follows its chain back to what was its latest delivery. */
const STATES_AT = `
  WITH RECURSIVE wanted AS (
    SELECT d.position, s.state_position, s.latest_position
      FROM json_each($1) CROSS JOIN delivery d ON d.position = json_each.value
     CROSS JOIN order_state s ON s.customer = d.customer AND s.order_id = d.order_id
     WHERE d.echo_of IS NULL
  ), chain AS (
    SELECT DISTINCT latest_position AS position, 0 AS hops FROM wanted WHERE state_position > $2
    UNION ALL
    SELECT d.previous, hops + 1
      FROM chain CROSS JOIN delivery d ON d.position = chain.position
     WHERE chain.position > $2 AND hops < $3
  )
  SELECT position FROM wanted WHERE state_position = position
  UNION ALL
  SELECT coalesce(d.echo_of, d.position) FROM chain CROSS JOIN delivery d ON d.position = chain.position WHERE chain.position <= $2
  UNION ALL
  SELECT 0 FROM chain WHERE hops = $3 AND position > $2`

const PAYLOADS = `
  SELECT position, payload FROM json_each($1) CROSS JOIN delivery ON position = json_each.value
   WHERE $2 IS NULL OR instr(payload, $2) > 0 OR instr(payload, x'5c') > 0`

const OF_REQUEST = `
  SELECT hex(d.receipt) AS receipt
    FROM (SELECT position FROM delivery WHERE receipt >= unhex($1) AND receipt < unhex($2) ORDER BY receipt LIMIT $3) m
   CROSS JOIN delivery d ON d.position = m.position
   WHERE substr(d.origin, ${REQUEST_START}, length($4)) = $4
   LIMIT $5`

/** Everything that walks through deliveries or orders. Run by the reader thread. */
export const deliveryReads = {
  history(database, customerId, orderId, { from, most = NO_LIMIT } = {}) {
    const rows = database.all(HISTORY, from ?? null, customerId, orderId, most)
    const state = rows.length < most ? keptState(rows) : undefined
    if (state !== undefined) rows.push(...database.all(HISTORY, state, customerId, orderId, 1))
    return rows.map(summaryFromRow)
  },

  orders(database, place, filter, { most, look }) {
    const [all, end] = filter.orderId === undefined ? [ORDERS, ORDERS_END] : [NAMED_ORDERS, NAMED_ORDERS_END]
    const customers = { after: numberOf(database, place?.customerId), only: numberOf(database, filter.customerId) }
    const [fromCustomer, fromOrder, toCustomer, toOrder] = orderRange(customers, place, filter)
    const [last, more] = database.all(end, fromCustomer, fromOrder, toCustomer, toOrder, look - 1)
    const [endCustomer, endOrder] = more ? [last?.customer as number, last?.order_id as string] : [toCustomer, toOrder]
    const { status = null, from = null, to = null } = filter
    const rows = database.all(all, fromCustomer, fromOrder, endCustomer, endOrder, status, from, to, most + 1)
    const shown = rows.length > most ? rows[most - 1] : undefined
    const next = shown ?? (more && last)
    return { orders: rows.slice(0, most).map(orderFromRow), next: next ? placeFromRow(next) : null }
  },

  after(database, position, filter, bounds) {
    const end = endOfWalk(position, database.get(AFTER_END, position, bounds.look - 1))
    const rows = database.all(AFTER, position, end, ...filterValues(filter), bounds.most)
    return deliveryPage(rows.map(summaryFromRow), end, bounds)
  },

  before(database, position, filter, bounds) {
    if (filter.customerId === undefined) return walkBack(database, position, filter, bounds)
    const customer = numberOf(database, filter.customerId) ?? NOBODY
    const { positions, end } = positionsBefore(database, customer, position, bounds.look)
    const rows = database.all(AT, JSON.stringify(positions), 1, ...filterValues(filter), bounds.most)
    return pageBefore(rows.map(summaryFromRow), end, bounds)
  },

  statesAt: (database, positions, at) =>
    statesAmong(positions, database.all(STATES_AT, JSON.stringify(positions), at, MOST_SINCE)),

  receiptsOfRequest(database, requestId, { most, look }) {
    const wanted = requestIn(requestId)
    if (wanted === undefined) return undefined
    const rows = database.all(OF_REQUEST, wanted.first, wanted.end, look, wanted.bytes, most)
    return rows.map(({ receipt }) => uuidFrom(receipt as string))
  },

  payloads(database, positions, holding) {
    const bytes = holding === undefined ? null : Buffer.from(holding)
    const rows = database.all(PAYLOADS, JSON.stringify(positions), bytes)
    return new Map(rows.map(({ position, payload }) => [position as number, payload as Uint8Array]))
  },
} satisfies Operations<DeliveryStore>

/** Walks back through the deliveries of all customers. */
function walkBack(database: Database, position: number, filter: Filter, bounds: Bounds) {
  const looked = database.get(BEFORE_END, position, bounds.look - 1)?.position as number | undefined
  const end = looked ?? 0
  const rows = database.all(BEFORE, position, end, ...filterValues(filter), bounds.most)
  return pageBefore(rows.map(summaryFromRow), end, bounds)
}

function numberOf(database: Database, customerId: string | undefined): number | undefined {
  if (customerId === undefined) return undefined
  const row = database.get('SELECT number FROM customer WHERE id = $1', customerId)
  return row === undefined ? NOBODY : (row.number as number)
}

const placeFromRow = (row: Row): OrderPlace => ({
  customerId: row.customer_id as string,
  orderId: row.order_id as string,
})
