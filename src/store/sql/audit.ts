import type { AuditEvent, AuditFilter, AuditPlace, AuditStore } from '../audit-store.ts'
import type { NewRefusals } from '../roll-up-store.ts'
import { type Dialect, NO_LIMIT } from './dialect.ts'
import { orderKey } from './order-key.ts'
import { addingRefusals } from './roll-ups.ts'
import { all, allAs, change, fields, get, type Noun, type Row, run, walk, write } from './work.ts'

export interface AuditOperations extends Omit<AuditStore, 'append'> {
  append(events: readonly AuditEvent[]): Promise<void>
  appendWith(refusals: readonly NewRefusals[], events: readonly AuditEvent[]): Promise<void>
}

/** Events without counts of refusals need no transaction. */
export const auditStore = ({ append, appendWith, ...rest }: AuditOperations): AuditStore => ({
  ...rest,
  append: (events, refusals = []) => (refusals.length === 0 ? append(events) : appendWith(refusals, events)),
})

const EVENT = `at bigint, actor text, action text, customer_id text, address text, request_id text, details text, \
refusal text, key_id text, order_id text, order_key bigint`

const UNLESS_ERASED = (column: string, also = ''): string =>
  `CASE WHEN ${also}(SELECT erased_at FROM customer WHERE id = v.customer_id) IS NULL THEN ${column} END`

const APPEND = (v: string): string => `
  INSERT INTO audit_event (at, actor, action, customer_id, address, request_id, details, refusal, key_id, order_id, order_key)
  SELECT at, actor, action, customer_id, address, ${UNLESS_ERASED('request_id', `v.actor <> 'api' OR `)}, details, refusal, key_id,
         ${UNLESS_ERASED('order_id')}, ${UNLESS_ERASED('order_key')}
    FROM ${v}`

const DELETE_BEFORE = `
  DELETE FROM audit_event WHERE number IN (SELECT number FROM audit_event WHERE at < $1 ORDER BY at LIMIT $2)`

/** An erasure of a file leaves dashes instead of an order id or a request id, also in a copy of it on PostgreSQL: see refused.ts. */
export const shown = (column: string): string => `CASE WHEN ltrim(${column}, '-') <> '' THEN ${column} END`

/** A walk goes through the events of a request, of a customer, or through all: those of `$1`, before a place and back to another. */
const waysIn = ({ along }: Dialect) => {
  const of = (column: string) => ({
    range: `${along(column, 'at, number', '$4, $5', '$2, $3')} AND ${column} IS NOT NULL`,
    order: `${column} DESC, at DESC, number DESC`,
  })
  return {
    request: of('request_id'),
    customer: of('customer_id'),
    all: {
      range: `coalesce($1, '') = '' AND (at, number) < ($2, $3) AND (at, number) >= ($4, $5)`,
      order: 'at DESC, number DESC',
    },
  }
}

export const audit = (dialect: Dialect): Noun<AuditOperations> => {
  const { batch, contains, inOrder, pick, startsWith } = dialect
  const WAYS = waysIn(dialect)
  type Way = keyof typeof WAYS
  const append = batch(EVENT, APPEND)
  const addRefusals = addingRefusals(dialect)

  /** Finds the last event to look at, and the next one if there is one. */
  const BEFORE_END = (way: Way): string => `
    SELECT at, number FROM audit_event WHERE ${WAYS[way].range} ORDER BY ${WAYS[way].order} LIMIT 2 OFFSET $6`
  const BEFORE = (way: Way): string => `
    SELECT number, at, actor, action, customer_id, address, ${shown('request_id')} AS request, details, refusal AS refusal_id, key_id,
           ${shown('order_id')} AS order_id
      FROM ${inOrder('audit_event', WAYS[way])} e
     WHERE ${startsWith('action', '$6')} AND (customer_id = $7 OR $7 IS NULL) AND (order_id = $8 OR $8 IS NULL)
       AND (request_id = $9 OR $9 IS NULL) AND (key_id = $10 OR ${contains('details', '$11')} OR $10 IS NULL)
     ORDER BY ${WAYS[way].order} LIMIT $12`

  /** Returns the values of these statements, in the order of their parameters. */
  function walkFrom(place: AuditPlace | null, filter: AuditFilter) {
    const { customerId = null, action = '', orderId = null, requestId = null, keyId, from = 0, to = NO_LIMIT } = filter
    const way: Way = requestId !== null ? 'request' : customerId !== null ? 'customer' : 'all'
    const [at, number] = place ?? [to, 0]
    return {
      way,
      start: [requestId ?? customerId, at, number],
      end: [from, 0],
      filters: [action, customerId, orderId, requestId, keyId ?? null, keyInDetails(keyId)],
      /** Whether the filters may leave out something that the walk looks at. */
      isFiltered:
        action !== '' || orderId !== null || keyId !== undefined || (requestId !== null && customerId !== null),
    } as const
  }

  return {
    append: change(function* (events) {
      yield* append(events.map(valuesOf))
    }),
    appendWith: write(function* (refusals, events) {
      // First, because it may wait for another replica, while a customer may be erased, which APPEND looks at.
      yield* addRefusals(refusals)
      yield* append(events.map(valuesOf))
    }),
    prove: write(function* (events) {
      yield* run('SAVEPOINT trial')
      yield* append(events.map(valuesOf))
      yield* run('ROLLBACK TO SAVEPOINT trial')
    }),
    list: walk(function* ({ limit, ...filter }) {
      const { way, start, end, filters } = walkFrom(null, filter)
      return (yield* allAs(eventFromRow, BEFORE(way), ...start, ...end, ...filters, limit)).reverse()
    }),
    before: walk(function* (place, filter, { limit, scan }) {
      const { way, start, end, filters, isFiltered } = walkFrom(place, filter)
      const [last, more] = isFiltered ? yield* all(BEFORE_END(way), ...start, ...end, scan - 1) : []
      const stop = more === undefined ? null : placeFromRow(last)
      const rows = yield* all(BEFORE(way), ...start, ...(stop ?? end), ...filters, limit + 1)
      return {
        events: rows.slice(0, limit).map(eventFromRow),
        next: rows.length > limit ? placeFromRow(rows[limit - 1]) : stop,
      }
    }),
    deleteBefore: change(
      pick({
        sqlite: (before: number, limit: number) => run(DELETE_BEFORE, before, limit),
        // The owner of the tables deletes: see functions/audit.sql.
        *postgres(before, limit) {
          return Number((yield* get('SELECT delete_audit_1($1, $2) AS deleted', before, limit))?.deleted)
        },
      }),
    ),
  }
}

/** The text that `details` of an event about an API key have: as `keyId`, or as `newKeyId`. */
const keyInDetails = (keyId: string | undefined): string | null =>
  keyId === undefined ? null : `eyId":${JSON.stringify(keyId)}`

const placeFromRow = (row: Row | undefined): AuditPlace | null =>
  row === undefined ? null : [row.at as number, Number(row.number)]

const valuesOf = (event: AuditEvent) => {
  const { at, actor, action, customerId, address, requestId, details, refusalId, keyId, orderId } = event
  const key = refusalId === null || orderId === null ? null : orderKey(orderId)
  return [at, actor, action, customerId, address, requestId, JSON.stringify(details), refusalId, keyId, orderId, key]
}

const eventFields = fields<Omit<AuditEvent, 'details' | 'requestId'>>()(
  'at actor action customerId address refusalId orderId keyId',
)

const eventFromRow = (row: Row): AuditEvent => ({
  ...eventFields(row),
  // The order of a walk must mean the column.
  requestId: row.request as string | null,
  details: JSON.parse(row.details as string),
})
