import { REQUEST_START, requestIn } from '#src/store/shared/origins.ts'
import { summaryFromRow } from '#src/store/shared/rows.ts'
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
import type { Bounds, DeliveryStore, DeliverySummary, Filter, HistoryPage, OrderPlace } from '#src/store/store.ts'
import type { Query } from '../database.ts'
import { BY_POSITION } from './by-position.ts'
import { lookedAtFromRow, NAMED_ORDERS, ORDERS, orderPage } from './order-walk.ts'

const HISTORY = `
  WITH RECURSIVE chain AS (
    SELECT 1::bigint AS place, s.state_position, d.*
      FROM order_state s JOIN ${BY_POSITION('coalesce($1::bigint, s.latest_position)')}
     WHERE s.customer = (SELECT number FROM customer WHERE id = $2) AND s.order_id = $3
       AND d.customer = s.customer AND d.order_id = s.order_id
    UNION ALL
    SELECT place + 1, chain.state_position, d.* FROM chain JOIN ${BY_POSITION('chain.previous')} WHERE place < $4::bigint
  )
  SELECT d.*, c.id AS customer_id, c.erased_at IS NOT NULL AS erased FROM chain d JOIN customer c ON c.number = d.customer ORDER BY d.place`

const FITS = `
  AND ($3::text IS NULL OR d.customer = (SELECT number FROM customer WHERE id = $3))
  AND ($4::text IS NULL OR d.order_id = $4) AND ($5::smallint IS NULL OR d.status = $5)
  AND ($6::bigint IS NULL OR d.received_at >= $6) AND ($7::bigint IS NULL OR d.received_at < $7)
  AND ($8::integer IS NULL OR (d.echo_of IS NOT NULL)::integer = $8)`

/** The inner query keeps the planner from joining before it has the nearest rows. */
const NEAREST = (range: string, order: string): string => `
  SELECT d.*, c.id AS customer_id, c.erased_at IS NOT NULL AS erased
    FROM (SELECT position, receipt, customer, order_id, status, received_at, echo_of, octet_length(payload) AS payload_bytes
            FROM delivery d
           WHERE ${range} ${FITS}
           ORDER BY ${order}
           LIMIT $9) d
    JOIN customer c ON c.number = d.customer
   ORDER BY ${order}`

const AFTER = NEAREST('d.position > $1::bigint AND d.position <= $2::bigint', 'd.position')

const AFTER_END = `
  SELECT coalesce(
    (SELECT position FROM delivery WHERE position > $1::bigint ORDER BY position LIMIT 1 OFFSET $2),
    (SELECT max(position) FROM delivery)) AS position`

export const BEFORE = NEAREST('d.position < $1::bigint AND d.position >= $2::bigint', 'd.position DESC')

const BEFORE_END = `
  SELECT position FROM delivery WHERE position < $1::bigint ORDER BY position DESC LIMIT 1 OFFSET $2`

/** Ends with a row that has no receipt, at the oldest position that was looked at. */
const BEFORE_OF_CUSTOMER = `
  SELECT $1::text AS customer_id, d.* FROM deliveries_before_1($1, $2, $3, $4, $5, $6, $7, $8, $9) d`

/** An order that changed since follows its chain back to what was its latest delivery. */
const STATES_AT = `
  WITH RECURSIVE wanted AS MATERIALIZED (
    SELECT d.position, s.state_position, s.latest_position
      FROM unnest($1::bigint[]) w (position)
      JOIN ${BY_POSITION('w.position')}
      JOIN LATERAL (
        SELECT state_position, latest_position FROM order_state WHERE customer = d.customer AND order_id = d.order_id LIMIT 1
      ) s ON true
     WHERE d.echo_of IS NULL
  ), chain AS (
    SELECT DISTINCT latest_position AS position, 0 AS hops FROM wanted WHERE state_position > $2::bigint
    UNION ALL
    SELECT d.previous, hops + 1 FROM chain JOIN ${BY_POSITION('chain.position')} WHERE chain.position > $2 AND hops < $3
  )
  SELECT position FROM wanted WHERE state_position = position
  UNION ALL
  SELECT coalesce(d.echo_of, d.position) FROM chain JOIN ${BY_POSITION('chain.position')} WHERE chain.position <= $2
  UNION ALL
  SELECT 0 FROM chain WHERE hops = $3 AND position > $2`

/** The planner is not to know how many they are, which it would behind a pooler: without statistics it would read the whole table. */
const PAYLOADS = `
  SELECT position, payload FROM delivery
   WHERE position = ANY (ARRAY(SELECT unnest($1::bigint[])))
     AND ($2::bytea IS NULL OR position($2 IN payload) > 0 OR position('\\x5c'::bytea IN payload) > 0)`

const OF_REQUEST = `
  SELECT receipt
    FROM (SELECT receipt, origin FROM delivery WHERE receipt >= $1::uuid AND receipt < $2::uuid ORDER BY receipt LIMIT $3) d
   WHERE substr(origin, ${REQUEST_START}, octet_length($4::bytea)) = $4
   LIMIT $5`

const NUMBER = 'SELECT number FROM customer WHERE id = $1'

type DeliveryReads = Pick<
  DeliveryStore,
  'history' | 'orders' | 'after' | 'before' | 'statesAt' | 'receiptsOfRequest' | 'payloads'
>

/** Everything that walks through deliveries or orders. */
export function deliveryReads(query: Query): DeliveryReads {
  const numberOf = async (customerId: string | undefined): Promise<number | undefined> => {
    if (customerId === undefined) return undefined
    const [row] = (await query(NUMBER, customerId)).rows
    return row === undefined ? NOBODY : (row.number as number)
  }

  /** Walks back through the deliveries of all customers. */
  const walkBack = async (position: number, filter: Filter, bounds: Bounds) => {
    const looked = (await query(BEFORE_END, position, bounds.look - 1)).rows[0]?.position as number | undefined
    const end = looked ?? 0
    const { rows } = await query(BEFORE, position, end, ...filterValues(filter), bounds.most)
    return pageBefore(rows.map(summaryFromRow), end, bounds)
  }

  const walkBackOf = async (customerId: string, position: number, filter: Filter, bounds: Bounds) => {
    const [, ...filters] = filterValues(filter)
    const { rows } = await query(BEFORE_OF_CUSTOMER, customerId, position, bounds.look, bounds.most, ...filters)
    const end = rows.pop()?.position as number
    return pageBefore(rows.map(summaryFromRow), end, bounds)
  }

  return {
    async history(customerId: string, orderId: string, page: HistoryPage = {}): Promise<DeliverySummary[]> {
      const { from, most = NO_LIMIT } = page
      const { rows } = await query(HISTORY, from ?? null, customerId, orderId, most)
      const state = rows.length < most ? keptState(rows) : undefined
      if (state !== undefined) rows.push(...(await query(HISTORY, state, customerId, orderId, 1)).rows)
      return rows.map(summaryFromRow)
    },

    async orders(place: OrderPlace | null, filter: Filter, bounds: Bounds) {
      const { orderId, status = null, from = 0, to = NO_LIMIT } = filter
      const sql = orderId === undefined ? ORDERS : NAMED_ORDERS
      const customers = { after: await numberOf(place?.customerId), only: await numberOf(filter.customerId) }
      const range = orderRange(customers, place, filter)
      const { rows } = await query(sql, ...range, bounds.look + 1, status, from, to, bounds.most + 2)
      return orderPage(rows.map(lookedAtFromRow), filter, bounds)
    },

    async after(position: number, filter: Filter, bounds: Bounds) {
      const end = endOfWalk(position, (await query(AFTER_END, position, bounds.look - 1)).rows[0])
      const { rows } = await query(AFTER, position, end, ...filterValues(filter), bounds.most)
      return deliveryPage(rows.map(summaryFromRow), end, bounds)
    },

    before(position: number, filter: Filter, bounds: Bounds) {
      const { customerId } = filter
      return customerId === undefined
        ? walkBack(position, filter, bounds)
        : walkBackOf(customerId, position, filter, bounds)
    },

    async statesAt(positions: readonly number[], at: number): Promise<number[] | undefined> {
      return statesAmong(positions, (await query(STATES_AT, positions, at, MOST_SINCE)).rows)
    },

    async receiptsOfRequest(requestId: string, { most, look }: Bounds): Promise<string[] | undefined> {
      const wanted = requestIn(requestId)
      if (wanted === undefined) return undefined
      const { rows } = await query(OF_REQUEST, wanted.first, wanted.end, look, wanted.bytes, most)
      return rows.map(({ receipt }) => receipt as string)
    },

    async payloads(positions: readonly number[], holding?: string): Promise<Map<number, Uint8Array>> {
      const { rows } = await query(PAYLOADS, positions, holding === undefined ? null : Buffer.from(holding))
      return new Map(rows.map(({ position, payload }) => [position as number, payload as Uint8Array]))
    },
  }
}
