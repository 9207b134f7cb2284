import { type Bounds, type DeliveryStore, type Filter, withinBytes } from '../../store.ts'
import type { Dialect } from '../dialect.ts'
import { BLOCK_SIZE } from '../purges.ts'
import { all, follow, get, type Noun, type Row, type Work, walk } from '../work.ts'
import { keyBytes } from './origins.ts'
import { ERASURE, summaryFromRow } from './rows.ts'

/** Columns of a delivery `d`, of which `payload_bytes` is computed, and its customer `c`, for `summaryFromRow`. */
export const summaryColumns = ({ uuid }: Dialect): string => `
  d.position, ${uuid('d.receipt')} AS receipt, c.id AS customer_id, d.status, d.received_at, d.echo_of, ${ERASURE},
  d.payload_bytes`

/** What PostgreSQL compares a parameter with first tells it the type. Origins are only read if `$9` asks for them. */
const FITS = ({ contains }: Dialect): string => `
  AND (d.customer = (SELECT number FROM customer WHERE id = $3) OR $3 IS NULL)
  AND (d.order_id = $4 OR $4 IS NULL) AND (d.status = $5 OR $5 IS NULL)
  AND (d.received_at >= $6 OR $6 IS NULL) AND (d.received_at < $7 OR $7 IS NULL)
  AND ((d.echo_of IS NOT NULL) = $8 OR $8 IS NULL)
  AND (NOT $9 OR (substr(d.origin, 1, 16) = $10 OR $10 IS NULL) AND (${contains('d.origin', '$11')} OR $11 IS NULL))`

/** The values for `$3` to `$8` of FITS: NULL lets everything through. */
export const filterValues = ({ customerId, orderId, status, from, to, duplicate }: Filter) =>
  [customerId ?? null, orderId ?? null, status ?? null, from ?? null, to ?? null, duplicate ?? null] as const

/** Those for `$10` and `$11`. */
export const originValues = ({ keyId, addressPart }: Filter) =>
  [keyId === undefined ? null : keyBytes(keyId), addressPart === undefined ? null : Buffer.from(addressPart)] as const

const asksForOrigin = ({ keyId, addressPart }: Filter): boolean => keyId !== undefined || addressPart !== undefined

/** Those for `$3` to `$11`. */
export const allFilterValues = (filter: Filter) =>
  [...filterValues(filter), asksForOrigin(filter), ...originValues(filter)] as const

const hasFilter = (filter: Filter): boolean => Object.values(filter).some((value) => value !== undefined)

/** The inner query keeps PostgreSQL from joining before it has the first rows. */
const first = (dialect: Dialect, from: string, order: string, limit: string): string => `
  SELECT ${summaryColumns(dialect)}
    FROM (SELECT d.position, d.receipt, d.customer, d.order_id, d.status, d.received_at, d.echo_of, d.erased,
                 octet_length(d.payload) AS payload_bytes
            FROM ${from} ${order && `ORDER BY ${order}`} LIMIT ${limit}) d
   ${dialect.one('customer', 'c', 'c.number = d.customer')}
   ${dialect.sorted(order)}`

export const firstThatFit = (dialect: Dialect, from: string, order: string): string =>
  first(dialect, `${from} ${FITS(dialect)}`, order, '$12')

/** The deliveries before position `$1`, from `$2` on, the newest first. */
export const before = (dialect: Dialect): string =>
  firstThatFit(dialect, 'delivery d WHERE d.position < $1 AND d.position >= $2', 'd.position DESC')

/** As many as a walk of a server looks at. */
const MANY = 20_000

/**
 * SQL for the position `offset` places after the first one of a range. For PostgreSQL an unknown OFFSET is a tenth of the rows, so it sorted
 * 20 million instead of reading 20,000 entries of an index. The inner LIMIT tells it how few they are.
 */
function placeIn({ pick }: Dialect, range: string, order: string, offset = '$2'): (place: number) => string {
  const positions = `SELECT position FROM delivery WHERE ${range} ORDER BY ${order}`
  const far = `${positions} LIMIT 1 OFFSET ${offset}`
  const near = `SELECT position FROM (${positions} LIMIT ${MANY}) d ORDER BY ${order} LIMIT 1 OFFSET ${offset}`
  return pick({ sqlite: () => far, postgres: (place: number) => (place < MANY ? near : far) })
}

const LAST = '(SELECT max(position) FROM delivery)'

/**
 * The first `$2` deliveries after position `$1`. Without a last position PostgreSQL reads and sorts all that follow, as long as it has no
 * statistics.
 */
function firstAfter(dialect: Dialect): (count: number) => string {
  const place = placeIn(dialect, 'position > $1', 'position', '$2::bigint - 1')
  const upTo = (end: string): string => first(dialect, `delivery d WHERE d.position > $1 ${end}`, 'd.position', '$2')
  return dialect.pick({
    sqlite: () => upTo(''),
    postgres: (count: number) => upTo(`AND d.position <= coalesce((${place(count - 1)}), ${LAST})`),
  })
}

const NEAREST = 'SELECT max(position) AS position FROM delivery WHERE position < $1'

/** Offsets of a quarter of the positions of a block, as its row has them. */
const BUSY_CHARACTERS = 5000

/** Whether a customer has so many of the deliveries in a block that they are read faster side by side than by its row. */
const IS_BUSY = `
  SELECT octet_length(offsets) > ${BUSY_CHARACTERS} AS busy FROM delivery_block
   WHERE block = $1 AND customer = (SELECT number FROM customer WHERE id = $2)`

/** Those that fit the filter, and the last position that was looked at: 0 at the beginning of all. */
interface Found {
  readonly rows: readonly Row[]
  readonly end: number
}

/** Walks back through the deliveries of one customer. */
export type WalkBackOf = (customerId: string, position: number, filter: Filter, bounds: Bounds) => Work<Found>

/** Continues after the last delivery of a full page, and after all that the walk looked at otherwise. */
function deliveryPage({ rows, end }: Found, { limit }: Bounds) {
  const deliveries = rows.map(summaryFromRow)
  return { deliveries, position: deliveries.length === limit ? (deliveries.at(-1)?.position ?? end) : end }
}

type Walks = Pick<DeliveryStore, 'after' | 'pageAfter' | 'before' | 'payloads'>

const BACKSLASH = Buffer.from('\\')

export function deliveryWalks(dialect: Dialect, walkBackOf: WalkBackOf): Noun<Walks> {
  const AFTER = firstThatFit(dialect, 'delivery d WHERE d.position > $1 AND d.position <= $2', 'd.position')
  const next = firstAfter(dialect)
  const BEFORE = before(dialect)
  const placeAfter = placeIn(dialect, 'position > $1', 'position')
  const placeBefore = placeIn(dialect, 'position < $1', 'position DESC')
  const { contains, each, oneOf } = dialect
  const PAYLOADS = `
    SELECT position, CASE WHEN erased IS NULL THEN payload END AS payload FROM delivery
     WHERE position ${oneOf(`SELECT value FROM ${each('$1', 'w', 'integer')}`)}
       AND (${contains('payload', '$2')} OR ${contains('payload', '$3')} OR $2 IS NULL)`

  function* endAfter(position: number, scan: number): Work<number> {
    const end = `SELECT coalesce((${placeAfter(scan - 1)}), ${LAST}) AS position`
    return Math.max(position, Number((yield* get(end, position, scan - 1))?.position ?? 0))
  }

  function* walkBack(position: number, filter: Filter, { limit, scan }: Bounds): Work<Found> {
    const end = Number((yield* get(placeBefore(scan - 1), position, scan - 1))?.position ?? 0)
    return { rows: yield* all(BEFORE, position, end, ...allFilterValues(filter), limit), end }
  }

  /** Looks at as many positions, not deliveries: to count those first would take as long as to read them. */
  function* walkBackForOrigin(position: number, filter: Filter, { limit, scan }: Bounds): Work<Found> {
    const nearest = Number((yield* get(NEAREST, position))?.position ?? 0)
    const end = Math.max(0, nearest + 1 - scan)
    return { rows: yield* all(BEFORE, nearest + 1, end, ...allFilterValues(filter), limit), end }
  }

  function* isBusy(customerId: string, position: number): Work<boolean> {
    return Boolean((yield* get(IS_BUSY, Math.floor((position - 1) / BLOCK_SIZE), customerId))?.busy)
  }

  function* after(position: number, filter: Filter, bounds: Bounds): Work<ReturnType<typeof deliveryPage>> {
    if (!hasFilter(filter)) {
      const count = Math.min(bounds.limit, bounds.scan)
      const rows = yield* all(next(count), position, count)
      return deliveryPage({ rows, end: Number(rows.at(-1)?.position ?? position) }, bounds)
    }
    const end = yield* endAfter(position, bounds.scan)
    // Followers often look when there is nothing new.
    const rows = end === position ? [] : yield* all(AFTER, position, end, ...allFilterValues(filter), bounds.limit)
    return deliveryPage({ rows, end }, bounds)
  }

  function* payloadsOf(positions: readonly number[], holding?: string): Work<Map<number, Uint8Array | null>> {
    if (positions.length === 0) return new Map()
    const either = holding === undefined ? [null, null] : [Buffer.from(holding), BACKSLASH]
    const rows = yield* all(PAYLOADS, positions, ...either)
    return new Map(rows.map(({ position, payload }) => [position as number, payload as Uint8Array | null]))
  }

  return {
    after: follow(after),
    pageAfter: follow(function* (position, filter, bounds, maxBytes) {
      const found = yield* after(position, filter, bounds)
      const deliveries = withinBytes(found.deliveries, maxBytes)
      const positions = deliveries.flatMap(({ erased, position }) => (erased ? [] : [position]))
      const payloads = yield* payloadsOf(positions)
      const isCut = deliveries.length < found.deliveries.length
      return {
        deliveries,
        payloads,
        position: isCut ? (deliveries.at(-1)?.position ?? position) : found.position,
        isCut,
      }
    }),
    payloads: walk(payloadsOf),
    before: walk(function* (position, filter, bounds) {
      const { customerId } = filter
      const way =
        asksForOrigin(filter) && (customerId === undefined || (yield* isBusy(customerId, position)))
          ? walkBackForOrigin(position, filter, bounds)
          : customerId === undefined
            ? walkBack(position, filter, bounds)
            : walkBackOf(customerId, position, filter, bounds)
      return deliveryPage(yield* way, bounds)
    }),
  }
}
