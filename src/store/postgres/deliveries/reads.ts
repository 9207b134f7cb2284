import { afterBlocks, bitOf, type FoundPositions, walkBlocks } from '#src/store/shared/blocks.ts'
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
import type { Query, Row } from '../database.ts'
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

const AFTER = `
  SELECT d.position, d.receipt, c.id AS customer_id, d.order_id, d.status, d.received_at, d.echo_of,
         c.erased_at IS NOT NULL AS erased, octet_length(d.payload) AS payload_bytes
    FROM delivery d JOIN customer c ON c.number = d.customer
   WHERE d.position > $1::bigint AND d.position <= $2::bigint ${FITS}
   ORDER BY d.position
   LIMIT $9`

const AFTER_END = `
  SELECT coalesce(
    (SELECT position FROM delivery WHERE position > $1::bigint ORDER BY position LIMIT 1 OFFSET $2),
    (SELECT max(position) FROM delivery)) AS position`

/** The inner query keeps the planner from joining before it has the newest rows. */
export const BEFORE = `
  SELECT d.*, c.id AS customer_id, c.erased_at IS NOT NULL AS erased
    FROM (SELECT position, receipt, customer, order_id, status, received_at, echo_of, octet_length(payload) AS payload_bytes
            FROM delivery d
           WHERE d.position < $1::bigint AND d.position >= $2::bigint ${FITS}
           ORDER BY d.position DESC
           LIMIT $9) d
    JOIN customer c ON c.number = d.customer
   ORDER BY d.position DESC`

const BEFORE_END = `
  SELECT position FROM delivery WHERE position < $1::bigint ORDER BY position DESC LIMIT 1 OFFSET $2`

/** Takes positions in the order in which it returns them. */
const AT = `
  SELECT d.*, c.id AS customer_id, c.erased_at IS NOT NULL AS erased
    FROM unnest($1::bigint[]) WITH ORDINALITY w (position, place)
    JOIN ${BY_POSITION('w.position')}
    JOIN customer c ON c.number = d.customer
   WHERE $2::integer IS NOT NULL ${FITS}
   ORDER BY w.place
   LIMIT $9`

const BLOCK_BOUNDS = `
  SELECT (SELECT min(block) FROM delivery_block) AS lowest, (SELECT max(block) FROM delivery_block) AS highest,
         (SELECT max(block) FROM block_customers) AS listed, (SELECT max(position) FROM delivery) AS last`

const LISTED_BLOCKS = `
  SELECT l.block, k.offsets
    FROM block_customers l
    JOIN LATERAL (SELECT offsets FROM delivery_block WHERE block = l.block AND customer = $3::bigint LIMIT 1) k ON true
   WHERE l.block <= $1::bigint AND l.block >= $2::bigint
     AND CASE WHEN octet_length(l.customers) > $4::integer / 8 THEN get_bit(l.customers, $4) = 1 END
   ORDER BY l.block DESC
   LIMIT $5`

/** The same for blocks that have no list yet. */
const BLOCKS = `
  SELECT n.block, k.offsets
    FROM generate_series($1::bigint, $2::bigint, -1) n (block)
    JOIN LATERAL (SELECT offsets FROM delivery_block WHERE block = n.block AND customer = $3::bigint LIMIT 1) k ON true
   ORDER BY n.block DESC`

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

const PAYLOADS = `
  SELECT w.position, d.payload
    FROM unnest($1::bigint[]) w (position)
    JOIN LATERAL (SELECT payload FROM delivery WHERE position = w.position LIMIT 1) d
      ON $2::bytea IS NULL OR position($2 IN d.payload) > 0 OR position('\\x5c'::bytea IN d.payload) > 0`

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

  /** Walks back through the blocks of a customer. */
  const positionsIn = async (walk: ReturnType<typeof walkBlocks>, { customerId }: Filter): Promise<FoundPositions> => {
    const customer = (await numberOf(customerId)) ?? NOBODY
    let step = walk.next()
    while (!step.done) {
      const { newest, oldest, listed, most } = step.value
      const { rows } = listed
        ? await query(LISTED_BLOCKS, newest, oldest, customer, bitOf(customer), most)
        : await query(BLOCKS, newest, oldest, customer)
      step = walk.next(rows)
    }
    return step.value
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

    async before(position: number, filter: Filter, bounds: Bounds) {
      if (filter.customerId === undefined) return walkBack(position, filter, bounds)
      const edges = (await query(BLOCK_BOUNDS)).rows[0] as Row
      const { blocksEnd, top, end: tailEnd } = afterBlocks(position, edges)
      const newest = top > tailEnd ? (await query(BEFORE, top, tailEnd, ...filterValues(filter), bounds.most)).rows : []
      const tail = pageBefore(newest.map(summaryFromRow), tailEnd, bounds)
      if (tail.position > blocksEnd || blocksEnd === 0 || newest.length === bounds.most) return tail
      const most = bounds.most - tail.deliveries.length
      const walk = walkBlocks(Math.min(position, blocksEnd), edges, bounds.look)
      const { positions, end } = await positionsIn(walk, filter)
      const rows = positions.length === 0 ? [] : (await query(AT, positions, 1, ...filterValues(filter), most)).rows
      const page = pageBefore(rows.map(summaryFromRow), end, { most })
      return { ...page, deliveries: [...tail.deliveries, ...page.deliveries] }
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
