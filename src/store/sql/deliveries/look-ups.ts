import { readUuid } from '#src/lib/random.ts'
import type { DeliveryStore } from '../../store.ts'
import { type Dialect, NO_LIMIT, textsOf } from '../dialect.ts'
import { firstReceiptOf } from '../uuid.ts'
import { allAs, find, get, getAs, type Noun, poll, type Row } from '../work.ts'
import { keyLabelOf } from './origins.ts'
import { deliveryFromRow, ERASURE, orderStateFromRow, receiptOf } from './rows.ts'

export const LAST = 'SELECT max(position) AS position FROM delivery'

const MAX_ARRIVALS = 1000

/**
 * How far times of receipt may go back from one position to a later one without being noted in `unordered_time`: the clocks of
 * replicas differ, and deliveries wait to be stored.
 */
export const SLACK_MILLISECONDS = 300_000

/** Up to when and from when on there is no order within a period, because a clock was put back. */
const UNORDERED = `
  SELECT min(low) AS low, max(high) AS high FROM unordered_time
   WHERE high - low > ${SLACK_MILLISECONDS} AND high >= $1 AND low < $2`

type LookUps = Pick<
  DeliveryStore,
  | 'findByReceipt'
  | 'receiptsWith'
  | 'orderState'
  | 'lastPosition'
  | 'countAfter'
  | 'positionsWithin'
  | 'countFrom'
  | 'arrivals'
>

/** `lastLeft` is SQL for the last position before a place, if that lies among lost positions; else for NULL. */
export function deliveryLookUps(dialect: Dialect, lastLeft: (place: string) => string): Noun<LookUps> {
  const { receipt, one, pick, uuid } = dialect
  const BY_RECEIPT = `
    SELECT d.position, ${uuid('d.receipt')} AS receipt, c.id AS customer_id, d.status, d.received_at, d.echo_of, ${ERASURE},
           d.payload, d.origin, ${keyLabelOf(dialect)} AS key_label
      FROM delivery d JOIN customer c ON c.number = d.customer
     WHERE d.receipt = ${receipt('$1')}`
  const RECEIPTS = `
    SELECT ${uuid('d.receipt')} AS receipt FROM delivery d
     WHERE d.receipt BETWEEN ${receipt('$1')} AND ${receipt('$2')} ORDER BY d.receipt LIMIT $3`
  const STATE = `
    SELECT ${uuid('d.receipt')} AS receipt, s.order_id, s.status, d.received_at
      FROM order_state s ${one('delivery', 'd', 'd.position = s.state_position')}
     WHERE s.customer = (SELECT number FROM customer WHERE id = $1) AND s.order_id = $2`
  const POSITIONS = `
    SELECT (SELECT position FROM delivery WHERE receipt < ${receipt('$1')} ORDER BY receipt DESC LIMIT 1) AS early,
           (SELECT position FROM delivery WHERE receipt >= ${receipt('$2')} ORDER BY receipt LIMIT 1) AS "end"`
  const COUNT_FROM = `
    SELECT count(*) AS count FROM (SELECT 1 FROM delivery WHERE receipt >= ${receipt('$1')} LIMIT $2) d`
  const COUNT_AFTER = pick({
    sqlite: 'SELECT max(coalesce((SELECT max(position) FROM delivery), 0) - $1, 0) AS count',
    // Without the gaps that failovers left, which overlap where nothing was stored between two.
    postgres: `
      SELECT greatest((SELECT max(position) FROM delivery) - $1::bigint
               - coalesce(sum(resumed_after - greatest(last_position, gap_before, $1)), 0), 0) AS count
        FROM (SELECT resumed_after, last_position, lag(resumed_after) OVER (ORDER BY resumed_after) AS gap_before FROM history) h
       WHERE resumed_after > $1`,
  })
  const CUSTOMERS = pick({ sqlite: 'json_group_array(DISTINCT c.id)', postgres: 'array_agg(DISTINCT c.id)' })
  const ARRIVALS = `
    SELECT max(position) AS position, count(*) AS count, ${CUSTOMERS} AS customer_ids, (${lastLeft('$1')}) AS last_left
      FROM (SELECT position, customer FROM delivery WHERE position > $1 ORDER BY position LIMIT ${MAX_ARRIVALS}) d
           ${one('customer', 'c', 'c.number = d.customer')}`

  return {
    findByReceipt: find(function* (receiptId) {
      const id = readUuid(receiptId)
      const row = id === undefined ? undefined : yield* get(BY_RECEIPT, id)
      return row && deliveryFromRow(row)
    }),
    receiptsWith: find((prefix, most) => allAs(receiptOf, RECEIPTS, ...receiptRange(prefix), most)),
    orderState: find((customerId, orderId) => getAs(orderStateFromRow, STATE, customerId, orderId)),
    lastPosition: poll(function* () {
      return Number((yield* get(LAST))?.position ?? 0)
    }),
    countAfter: find(function* (position) {
      return Number((yield* get(COUNT_AFTER, position))?.count ?? 0)
    }),
    positionsWithin: find(function* ({ from, to }) {
      if (from === undefined && to === undefined) return { early: 0, end: NO_LIMIT }
      const { low, high } = (yield* get(UNORDERED, from ?? 0, to ?? NO_LIMIT)) as Row
      const first = from === undefined ? null : firstReceiptOf(Math.min(from - SLACK_MILLISECONDS, Number(low ?? from)))
      const last = to === undefined ? null : firstReceiptOf(Math.max(to + SLACK_MILLISECONDS, Number(high ?? 0) + 1))
      const { early, end } = (yield* get(POSITIONS, first, last)) as Row
      return { early: Number(early ?? 0), end: Number(end ?? NO_LIMIT) }
    }),
    countFrom: find(function* (time, most) {
      return Number((yield* get(COUNT_FROM, firstReceiptOf(time), most))?.count)
    }),
    arrivals: poll(function* (after) {
      const { position, count, customer_ids, last_left } = (yield* get(ARRIVALS, after)) as Row
      if (last_left !== null) return { position: last_left as number, customerIds: [], more: true, lost: true }
      return {
        position: (position as number | null) ?? after,
        customerIds: textsOf(customer_ids ?? []),
        more: count === MAX_ARRIVALS,
        lost: false,
      }
    }),
  }
}

/** Returns the smallest and the largest receipt that begin with a prefix, as 32 hexadecimal digits. */
function receiptRange(prefix: string): [first: string, last: string] {
  const digits = prefix.replaceAll('-', '').slice(0, 32)
  return [digits.padEnd(32, '0'), digits.padEnd(32, 'f')]
}
