import type { DeliverySummary, Receipt } from '#src/store/store.ts'
import type { Row } from '../database.ts'

/** From `hex(receipt) AS receipt, order_id, status, received_at` and perhaps `echo_of`. */
export const receiptFromRow = (row: Row): Receipt => ({
  receiptId: (row.receipt as string).toLowerCase().replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5'),
  orderId: row.order_id as string | null,
  status: row.status as number,
  receivedAt: row.received_at as number,
  duplicate: typeof row.echo_of === 'number',
})

export const summaryFromRow = (row: Row): DeliverySummary => ({
  ...receiptFromRow(row),
  position: row.position as number,
  customerId: row.customer_id as string,
  payloadBytes: row.payload_bytes as number,
})
