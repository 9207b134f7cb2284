import type { DeliverySummary, Receipt } from '#src/store/store.ts'
import type { Row } from '../database.ts'

export const receiptFromRow = (row: Row): Receipt => ({
  receiptId: row.receipt as string,
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
