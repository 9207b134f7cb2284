import type { Refusal, RefusalRange, RefusedStore } from '../refused-store.ts'
import { shown } from './audit.ts'
import { type Dialect, LAST_ID, type Range } from './dialect.ts'
import { orderKey } from './order-key.ts'
import { firstReceiptOf, uuidFrom } from './uuid.ts'
import { all, fields, type Noun, type Row, walk } from './work.ts'

/** The refusals of customer `$1`, or of all if it is NULL, from `$2` on and before `$3`, in a table that has them. */
export function refusalRanges({ along }: Dialect) {
  const ofCustomer: Range = {
    range: `${along('customer_id', 'refusal', '$2', '$3')} AND refusal IS NOT NULL`,
    order: 'customer_id DESC, refusal DESC',
  }
  const ofAll: Range = {
    range: `coalesce($1, '') = '' AND refusal >= $2 AND refusal < $3 AND refusal IS NOT NULL`,
    order: 'refusal DESC',
  }
  return { ofCustomer, whose: (customerId: string | null) => (customerId === null ? ofAll : ofCustomer) }
}

/** Those of them whose order has the key `$11`. */
function orderRanges({ along }: Dialect) {
  const ofCustomer: Range = {
    range: `${along('order_key, customer_id', 'refusal', '$2', '$3', '$11, $1')} AND order_key IS NOT NULL`,
    order: 'order_key DESC, customer_id DESC, refusal DESC',
  }
  const ofAll: Range = {
    range: `coalesce($1, '') = '' AND ${along('order_key', 'refusal', '$2', '$3', '$11')} AND order_key IS NOT NULL`,
    order: 'order_key DESC, refusal DESC',
  }
  return (customerId: string | null) => (customerId === null ? ofAll : ofCustomer)
}

/** PostgreSQL must not know this limit: without statistics it would rather sort all refusals than walk to a limit of hundreds. */
export const newest = (table: string, { range, order }: Range, column: string, limit = '$4'): string => `
  SELECT ${column} FROM ${table} WHERE ${range} ORDER BY ${order} LIMIT (SELECT CAST(${limit} AS bigint))`

export const refusals = (dialect: Dialect): Noun<RefusedStore>['refusals'] => {
  const { contains, joinOne } = dialect
  const { whose } = refusalRanges(dialect)
  const whoseOrder = orderRanges(dialect)
  /** The newest refusals in the audit log and among the bodies. */
  const FOUND = (of: Range): string => `
    SELECT * FROM (${newest('audit_event', of, 'refusal')}) logged
     UNION
    SELECT * FROM (${newest('refused_delivery', of, 'refusal')}) kept`
  const ORDER = `coalesce(${shown('a.order_id')}, r.order_id)`
  const REQUEST = `coalesce(${shown('a.request_id')}, r.request_id)`
  const FITS = `(
    (${ORDER} = $6 OR $6 IS NULL) AND (r.error_code = $7 OR r.error_code IS NULL AND ${contains('a.details', '$8')} OR $7 IS NULL)
    AND (${REQUEST} = $9 OR $9 IS NULL))`
  /** Looks at `$4` refusals. Returns those that fit, and all from place `$5` on, which tell where to continue. */
  const REFUSALS = (of: Range): string => `
    SELECT f.refusal, coalesce(a.at, r.at) AS at, coalesce(a.customer_id, r.customer_id) AS customer_id,
           coalesce(a.key_id, r.key_id) AS key_id, (SELECT label FROM api_key WHERE id = coalesce(a.key_id, r.key_id)) AS key_label,
           ${ORDER} AS order_id, a.details, r.error_code, r.message, ${REQUEST} AS request_id,
           coalesce(a.address, r.address) AS address, octet_length(r.payload) AS payload_bytes, f.place, ${FITS} AS fits
      FROM (SELECT refusal, row_number() OVER (ORDER BY refusal DESC) AS place
              FROM (${FOUND(of)}) found ORDER BY refusal DESC LIMIT $4) f
           ${joinOne('audit_event', 'a', 'a.refusal = f.refusal AND a.refusal IS NOT NULL')}
           ${joinOne('refused_delivery', 'r', 'r.refusal = f.refusal')}
     WHERE ${FITS} OR f.place >= $5
     ORDER BY f.refusal DESC LIMIT $10`

  return walk(function* (filter, { limit, scan }) {
    const { customerId = null, orderId = null, errorCode, requestId = null } = filter
    const of = (orderId === null ? whose : whoseOrder)(customerId)
    const [from, below] = refusalBounds(filter)
    const filters = [orderId, errorCode ?? null, codeInDetails(errorCode), requestId] as const
    const isFiltered = filters.some((value) => value !== null)
    const look = isFiltered ? scan : limit
    const key = orderId === null ? [] : [orderKey(orderId)]
    const rows = yield* all(REFUSALS(of), customerId, from, below, look + 1, look, ...filters, limit + 2, ...key)
    const fitting = rows.filter(({ fits, place }) => fits && (place as number) <= look)
    const refusals = fitting.slice(0, limit).map(refusalFromRow)
    const end = rows.at(-1)?.place === look + 1 ? (rows.at(-2)?.refusal as string) : null
    return { refusals, next: fitting.length > limit ? (refusals.at(-1)?.refusalId ?? null) : end }
  })
}

/** Returns the smallest id that a range includes, and the smallest one above it, for a comparison of texts. */
export function refusalBounds(range: RefusalRange & { readonly idPrefix?: string | undefined }): [string, string] {
  const { before = LAST_ID, from, to, idPrefix = '' } = range
  const first = [idPrefix, from === undefined ? '' : firstIdOf(from)].sort()[1] as string
  const [end] = [before, to === undefined ? LAST_ID : firstIdOf(to), `${idPrefix}${LAST_ID}`].sort() as [string]
  return [first, end]
}

/** The beginning of every id of a time. */
const firstIdOf = (time: number): string => uuidFrom(firstReceiptOf(time)).slice(0, 13)

const refusalFields = fields<Omit<Refusal, 'refusalId' | 'errorCode' | 'message' | 'notRecorded' | 'reason'>>()(
  'at customerId keyId keyLabel orderId requestId address payloadBytes',
)

/** Reads a row with `details` of an audit event, or with the columns of a kept body, or with both. */
export function refusalFromRow(row: Row): Refusal {
  const { errorCode, message, notRecorded, reason = null } = JSON.parse((row.details as string | null) ?? '{}')
  return {
    ...refusalFields(row),
    refusalId: row.refusal as string,
    errorCode: (row.error_code as string | null) ?? errorCode,
    message: row.message ? JSON.parse(row.message as string) : (message ?? ''),
    ...(notRecorded !== undefined && { notRecorded }),
    reason,
  }
}

/** The text that `details` of an audit event has for an error code. A quotation mark within another value has a backslash. */
const codeInDetails = (errorCode: string | undefined): string | null =>
  errorCode === undefined ? null : `"errorCode":${JSON.stringify(errorCode)}`
