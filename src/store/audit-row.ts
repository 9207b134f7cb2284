import type { AuditEvent } from './store.ts'

/** Both databases give rows of the same names and types. */
export const auditEventFromRow = (row: Readonly<Record<string, unknown>>): AuditEvent => ({
  at: row.at as number,
  actor: row.actor as string,
  action: row.action as string,
  customerId: row.customer_id as string | null,
  address: row.address as string | null,
  requestId: row.request_id as string | null,
  details: JSON.parse(row.details as string),
})
