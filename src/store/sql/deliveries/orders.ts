import type { DeliveryStore, Filter, OrderPlace } from '../../store.ts'
import { type Dialect, LAST_ID, NO_LIMIT } from '../dialect.ts'
import { all, fields, get, type Noun, type Work, walk } from '../work.ts'
import { orderFromRow } from './rows.ts'

/** Stands for the number of an unknown customer. It is larger than any customer number, so nothing is found. */
const NOBODY = Number.MAX_SAFE_INTEGER

const ORDERS = `
  SELECT customer, order_id, status, state_position FROM order_state
   WHERE (customer, order_id) > ($1, $2) AND (customer, order_id) <= ($3, $4)
   ORDER BY customer, order_id`

/** One order id of many customers is looked for customer by customer. */
const NAMED = `number > $1 AND $2 = '' AND number <= $3`

const NAMED_PLACES = `
  SELECT n.number AS customer, CAST($4 AS text) AS order_id FROM customer n WHERE ${NAMED} ORDER BY n.number`

/** Finds the last place to look at, and the next one if there is one. */
const endOf = (places: string): string => `
  SELECT customer, order_id, (SELECT id FROM customer WHERE number = p.customer) AS customer_id
    FROM (${places} LIMIT 2 OFFSET $5) p`

/** The number of a customer. */
export function* numberOf(customerId: string): Work<number> {
  const row = yield* get('SELECT number FROM customer WHERE id = $1', customerId)
  return row === undefined ? NOBODY : (row.number as number)
}

/** Two pairs of customer number and order id: the first exclusive, the second inclusive. No order id is empty. */
type Range = readonly [number, string, number, string]

function* rangeOf(place: OrderPlace | null, { customerId, orderId }: Filter): Work<Range> {
  const only = customerId === undefined ? undefined : yield* numberOf(customerId)
  const isSame = place === null || place.customerId === customerId
  const after = isSame ? place && only : yield* numberOf(place.customerId)
  if (orderId !== undefined) return [after ?? (only ?? 1) - 1, '', only ?? NO_LIMIT, orderId]
  return [after ?? only ?? 0, place?.orderId ?? '', only === undefined ? NO_LIMIT : only + 1, '']
}

const placeFromRow = fields<OrderPlace>()('customerId orderId')

export function orderLists({ along, inOrder, one, pick, sorted, uuid }: Dialect): Noun<Pick<DeliveryStore, 'orders'>> {
  const NAMED_ORDERS = `
    SELECT s.customer, s.order_id, s.status, s.state_position
      FROM customer n ${one('order_state', 's', 's.customer = n.number AND s.order_id = $4')}
     WHERE ${NAMED}
     ORDER BY n.number`
  const BEGUN = along('customer', 'order_id', '$4', `$4 || '${LAST_ID}'`, 'n.number')
  const BEGUN_ORDERS = `
    SELECT s.customer, s.order_id, s.status, s.state_position
      FROM ${inOrder('customer', { range: NAMED, order: 'number' })} n
           CROSS JOIN ${pick({
             sqlite: `order_state s ON ${BEGUN}`,
             postgres: `LATERAL (SELECT * FROM order_state WHERE ${BEGUN} ORDER BY customer, order_id LIMIT $5) s`,
           })}
     ORDER BY n.number`
  /** The inner LIMIT keeps PostgreSQL from using another index for values that it believes to be rare. */
  const pageOf = (orders: string, most = '$9'): string => `
    SELECT c.id AS customer_id, p.order_id, p.status, p.state_position AS position, ${uuid('d.receipt')} AS receipt, d.received_at,
           octet_length(d.payload) AS payload_bytes
      FROM (${orders} LIMIT ${most}) p
           ${one('delivery', 'd', 'd.position = p.state_position')}
           ${one('customer', 'c', 'c.number = p.customer')}
     WHERE (p.status = $6 OR $6 IS NULL) AND (d.received_at >= $7 OR $7 IS NULL) AND (d.received_at < $8 OR $8 IS NULL)
     ${sorted('p.customer, p.order_id')}
     LIMIT $5`
  // More than `scan`, should orders be added meanwhile.
  const most = (scan: number): readonly number[] => [2 * scan]
  const ALL = { end: endOf(ORDERS), page: pageOf(ORDERS), most }
  const WITH_NAME = { end: endOf(NAMED_PLACES), page: pageOf(NAMED_ORDERS), most }
  const WITH_BEGINNING = { ...WITH_NAME, page: pageOf(BEGUN_ORDERS, '$5'), most: () => [] }

  return {
    orders: walk(function* (place, filter, { limit, scan }) {
      const { customerId, orderId, orderIdPrefix } = filter
      const { end, page, most } = orderId !== undefined ? WITH_NAME : orderIdPrefix !== undefined ? WITH_BEGINNING : ALL
      const [fromCustomer, fromOrder, ...to] = yield* rangeOf(place, { customerId, orderId: orderId ?? orderIdPrefix })
      // Without a filter a page looks at no more than it shows.
      const isFiltered = Object.entries(filter).some(([name, value]) => name !== 'customerId' && value !== undefined)
      const [last, more] = isFiltered || scan < limit ? yield* all(end, fromCustomer, fromOrder, ...to, scan - 1) : []
      const upTo = last && more ? [last.customer as number, last.order_id as string] : to
      const values = [limit + 1, filter.status ?? null, filter.from ?? null, filter.to ?? null, ...most(scan)]
      const rows = yield* all(page, fromCustomer, fromOrder, ...upTo, ...values)
      const next = rows.length > limit ? rows[limit - 1] : more && last
      return { orders: rows.slice(0, limit).map(orderFromRow), next: next ? placeFromRow(next) : null }
    }),
  }
}
