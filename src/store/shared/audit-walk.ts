import type { AuditEvent, AuditFilter, AuditPlace, Bounds } from '../store.ts'
import { auditEventFromRow } from './rows.ts'
import { NO_LIMIT } from './walks.ts'

type Row = Readonly<Record<string, unknown>>

/** How a walk through the audit log goes: through the events of a request, of a customer, or through all. */
export type AuditWay = 'request' | 'customer' | 'all'

/** The values of the statements of a walk, in the order of their parameters. */
export interface AuditWalk {
  readonly way: AuditWay
  /** `$1` to `$3`: what the way is about, and the place that the walk begins before. */
  readonly start: readonly [about: string | null, ...AuditPlace]
  /** `$4` and `$5`: the place that the walk may go back to. */
  readonly end: AuditPlace
  /** NULL lets everything through. */
  readonly filters: readonly [string, ...(string | null)[]]
  /** Whether the filters may leave out something that the walk looks at. */
  readonly isFiltered: boolean
}

export function auditWalk(place: AuditPlace | null, filter: AuditFilter): AuditWalk {
  const { customerId = null, action = '', orderId = null, requestId = null, keyId, from = 0, to = NO_LIMIT } = filter
  const way = requestId !== null ? 'request' : customerId !== null ? 'customer' : 'all'
  const filters = [action, customerId, orderId, requestId, keyId ?? null, keyInDetails(keyId)] as const
  return {
    way,
    start: [requestId ?? customerId, ...(place ?? ([to, 0] as const))],
    end: [from, 0],
    filters,
    isFiltered: action !== '' || orderId !== null || keyId !== undefined || (requestId !== null && customerId !== null),
  }
}

/** The text that `details` of an event about an API key have: as `keyId`, or as `newKeyId`. */
export const keyInDetails = (keyId: string | undefined): string | null =>
  keyId === undefined ? null : `eyId":${JSON.stringify(keyId)}`

export const placeFromRow = (row: Row | undefined): AuditPlace | null =>
  row === undefined ? null : [row.at as number, Number(row.number)]

/** `rows` are the events that fit, and the next one if there are more than `most`. `end` is where the walk ended; null at the end. */
export function auditPage(
  rows: readonly Row[],
  end: AuditPlace | null,
  { most }: Pick<Bounds, 'most'>,
): { events: AuditEvent[]; next: AuditPlace | null } {
  return {
    events: rows.slice(0, most).map(auditEventFromRow),
    next: rows.length > most ? placeFromRow(rows[most - 1]) : end,
  }
}
