import type { DeliveryStore, KeptOrigin } from '../../store.ts'
import { type Dialect, NO_LIMIT } from '../dialect.ts'
import { UUID_BYTES } from '../uuid.ts'
import { all, allAs, type Noun, type Row, walk } from '../work.ts'
import { keyLabelOf, REQUEST_START, requestIn } from './origins.ts'
import { ERASURE, originFromRow, receiptOf, summaryFromRow } from './rows.ts'
import { summaryColumns } from './walks.ts'

const CHAINED = `
  d.position, d.previous, d.customer, d.order_id, d.receipt, d.status, d.received_at, d.echo_of, d.erased,
  octet_length(d.payload) AS payload_bytes`

/** Deliveries of one order that `statesAt` goes back through. */
const MAX_SINCE = 10_000

type Histories = Pick<DeliveryStore, 'history' | 'statesAt' | 'origins' | 'receiptsOfRequest'>

export function deliveryHistories(dialect: Dialect): Noun<Histories> {
  const { each, one, oneOf, receipt, uuid } = dialect
  const at = (position: string): string => one('delivery', 'd', `d.position = ${position}`)
  const HISTORY = `
    WITH RECURSIVE chain AS (
      SELECT CAST(1 AS bigint) AS place, s.state_position, ${CHAINED}
        FROM order_state s ${at('coalesce($1, s.latest_position)')}
       WHERE s.customer = (SELECT number FROM customer WHERE id = $2) AND s.order_id = $3
         AND d.customer = s.customer AND d.order_id = s.order_id
      UNION ALL
      SELECT chain.place + 1, chain.state_position, ${CHAINED} FROM chain ${at('chain.previous')} WHERE chain.place < $4
    )
    SELECT ${summaryColumns(dialect)}, d.previous, d.state_position
      FROM chain d ${one('customer', 'c', 'c.number = d.customer')}
     ORDER BY d.place`
  /** An order that changed since follows its chain back to what was its latest delivery. */
  const STATES_AT = `
    WITH RECURSIVE wanted AS MATERIALIZED (
      SELECT d.position, s.state_position, s.latest_position
        FROM ${each('$1', 'w', 'integer')} ${at('w.value')} ${one('order_state', 's', 's.customer = d.customer AND s.order_id = d.order_id')}
       WHERE d.echo_of IS NULL
    ), chain AS (
      SELECT DISTINCT latest_position AS position, 0 AS hops FROM wanted WHERE state_position > $2
      UNION ALL
      SELECT d.previous, chain.hops + 1 FROM chain ${at('chain.position')} WHERE chain.position > $2 AND chain.hops < $3
    )
    SELECT position FROM wanted WHERE state_position = position
    UNION ALL
    SELECT coalesce(d.echo_of, d.position) FROM chain ${at('chain.position')} WHERE chain.position <= $2
    UNION ALL
    SELECT 0 FROM chain WHERE hops = $3 AND position > $2`
  const ORIGINS = `
    SELECT d.position, d.origin, ${ERASURE}, ${keyLabelOf(dialect)} AS key_label
      FROM delivery d ${one('customer', 'c', 'c.number = d.customer')}
     WHERE d.position ${oneOf(`SELECT value FROM ${each('$1', 'w', 'integer')}`)} AND d.origin IS NOT NULL`
  const OF_REQUEST = `
    SELECT ${uuid('d.receipt')} AS receipt
      FROM (SELECT receipt, origin FROM delivery
             WHERE receipt >= ${receipt('$1')} AND receipt < ${receipt('$2')} ORDER BY receipt LIMIT $3) d
     WHERE substr(d.origin, ${REQUEST_START}, ${1 + UUID_BYTES}) = $4
     LIMIT $5`

  return {
    history: walk(function* (customerId, orderId, { from, limit = NO_LIMIT } = {}) {
      const rows = yield* all(HISTORY, from ?? null, customerId, orderId, limit)
      const state = rows.length < limit ? keptState(rows.at(-1)) : undefined
      const kept = state === undefined ? [] : yield* all(HISTORY, state, customerId, orderId, 1)
      return [...rows, ...kept].map(summaryFromRow)
    }),
    statesAt: walk(function* (positions, at) {
      const states = new Set(
        (yield* all(STATES_AT, positions, at, MAX_SINCE)).map(({ position }) => position as number),
      )
      return states.has(0) ? undefined : positions.filter((position) => states.has(position))
    }),
    origins: walk(function* (positions) {
      const rows = yield* all(ORIGINS, positions)
      return new Map(rows.map((row) => [row.position as number, originFromRow(row) as KeptOrigin]))
    }),
    receiptsOfRequest: walk(function* (requestId, { limit, scan }) {
      const wanted = requestIn(requestId)
      if (wanted === undefined) return undefined
      return yield* allAs(receiptOf, OF_REQUEST, wanted.first, wanted.end, scan, wanted.bytes, limit)
    }),
  }
}

/** Returns the position of the delivery that made an order's state, if what stood between it and the last row of a history was purged. */
function keptState({ previous = null, position = 0, state_position: state }: Row = {}): number | undefined {
  return previous !== null && Number(state) < Number(position) ? Number(state) : undefined
}
