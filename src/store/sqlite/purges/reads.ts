import { purgeStateFromRow } from '#src/store/shared/rows.ts'
import { firstReceiptOf } from '#src/store/shared/uuid.ts'
import type { PurgePage, PurgeStore } from '#src/store/store.ts'
import type { Database, Row } from '../database.ts'
import type { Operations } from '../thread/operations.ts'

/** A file loses nothing to a failover, and a restored backup refuses later cursors: only a place after the last position is of no use. */
export const STATE = `
  SELECT generation, position, announced, NULL AS lost_at, CASE WHEN last < $1 THEN 0 END AS last_left
    FROM (SELECT *, max(position, coalesce((SELECT max(position) FROM delivery), 0)) AS last FROM purge)`

/**
 * Parts the old deliveries from the young ones with the fewest exceptions, whose clocks were wrong. Looks at those whose receipts,
 * which begin with the time, are nearest to it. The last delivery stays, because the next one gets the position after it.
 */
const END = `
  SELECT min(position, (SELECT max(position) - 1 FROM delivery)) AS position
    FROM (SELECT position, sum(weight) OVER (ORDER BY position) AS balance
            FROM (SELECT * FROM (SELECT position, 1 AS weight FROM delivery WHERE receipt < unhex($1) ORDER BY receipt DESC LIMIT 10000)
                  UNION ALL
                  SELECT * FROM (SELECT position, -1 FROM delivery WHERE receipt >= unhex($1) ORDER BY receipt LIMIT 10000)))
   WHERE balance > 0
   ORDER BY balance DESC, position
   LIMIT 1`

const PAGE = `
  SELECT d.position, d.received_at, length(d.payload) AS bytes, d.customer, d.order_id, s.state_position, s.latest_position,
         l.received_at AS latest_at
    FROM delivery d
    LEFT JOIN order_state s ON s.customer = d.customer AND s.order_id = d.order_id
    LEFT JOIN delivery l ON $1 AND l.position = s.latest_position
   WHERE d.position > $2 AND d.position <= $3
   ORDER BY d.position
   LIMIT $4`

const OF_CUSTOMER = `
  SELECT position, length(payload) AS bytes, customer = (SELECT number FROM customer WHERE id = $1) AS found
    FROM delivery WHERE position > $2 ORDER BY position LIMIT $3`

/** What one transaction may take: large payloads have many pages. */
const MOST_BYTES = 4 * 1024 * 1024

/** Returns the first rows whose payloads have so many bytes together, and at least one. */
export function withinBytes(
  rows: readonly Row[],
  most = MOST_BYTES,
  sizeOf = (bytes: number) => bytes,
): readonly Row[] {
  let sum = 0
  const beyond = rows.findIndex(({ bytes }, index) => {
    sum += sizeOf(bytes as number)
    return index > 0 && sum > most
  })
  return beyond < 0 ? rows : rows.slice(0, beyond)
}

/** An order whose latest delivery is old. */
export interface ExpiredOrder {
  readonly customer: number
  readonly orderId: string
  readonly latest: number
  readonly state: number
}

/** What a page of deliveries has to remove. */
export interface Removable {
  /** The last position looked at; null at the end. */
  readonly position: number | null
  /** Deliveries that no order needs. */
  readonly positions: readonly number[]
  readonly orders: readonly ExpiredOrder[]
  /** What would be removed of this page. */
  readonly counted: {
    readonly deliveries: number
    readonly orders: number
    readonly payloadBytes: number
  }
}

/** Run by the reader thread. */
export const purgeReads = {
  endOf: (database: Database, before: number): number =>
    Number(database.get(END, firstReceiptOf(before))?.position ?? 0),

  removable(database: Database, { before, orders, after, until, look }: PurgePage): Removable {
    const rows = withinBytes(database.all(PAGE, Number(orders), after, until, look))
    const positions: number[] = []
    const expired = new Map<number, ExpiredOrder>()
    const counted = { deliveries: 0, orders: 0, payloadBytes: 0 }
    for (const row of rows) {
      const position = row.position as number
      if ((row.received_at as number) >= before) continue
      const isNeeded = position === row.state_position || position === row.latest_position
      const isExpired = orders && Number(row.latest_at ?? 0) < before && (row.latest_position as number) <= until
      if (isNeeded && !isExpired) continue
      if (isNeeded) expired.set(row.latest_position as number, expiredFromRow(row))
      else positions.push(position)
      counted.deliveries++
      counted.orders += Number(position === row.latest_position)
      counted.payloadBytes += row.bytes as number
    }
    const position = (rows.at(-1)?.position as number | undefined) ?? null
    return { position, positions, orders: [...expired.values()], counted }
  },

  /** Finds what is to be erased among the next deliveries. */
  ofCustomer(database: Database, customerId: string, after: number, look: number) {
    const rows = withinBytes(database.all(OF_CUSTOMER, customerId, after, look))
    const positions = rows.filter(({ found }) => found === 1).map(({ position }) => position as number)
    return { positions, position: (rows.at(-1)?.position as number | undefined) ?? null }
  },
}

export const expiredFromRow = (row: Row): ExpiredOrder => ({
  customer: row.customer as number,
  orderId: row.order_id as string,
  latest: row.latest_position as number,
  state: row.state_position as number,
})

/** Whether the hourly counts contain every delivery up to a position. */
export const isCounted = (database: Database, until: number): boolean => database.get(UNCOUNTED, until) === undefined

const UNCOUNTED = `
  SELECT 1 FROM delivery WHERE position > (SELECT position FROM roll_up) AND position <= $1 LIMIT 1`

/** The methods of the port that the calling thread runs itself: look-ups of single rows. */
export const purgeLookUps = {
  state: (database, place = 0) => purgeStateFromRow(database.get(STATE, place) as Row),
  receivedAfter: (database, position) =>
    database.get('SELECT received_at FROM delivery WHERE position > $1 ORDER BY position LIMIT 1', position)
      ?.received_at as number | undefined,
  receivedBefore: (database, time) =>
    database.get(RECEIVED_BEFORE, firstReceiptOf(time))?.received_at as number | undefined,
} satisfies Operations<PurgeStore>

const RECEIVED_BEFORE = 'SELECT received_at FROM delivery WHERE receipt < unhex($1) ORDER BY receipt DESC LIMIT 1'
