import type { Delivery, DeliverySummary, Order, OrderState, Receipt } from '../../store.ts'
import { uuidFrom } from '../uuid.ts'
import type { Row } from '../work.ts'
import { originFrom } from './origins.ts'

/**
 * Columns of a delivery `d` and its customer `c`. With the customer, the order id is erased, too; in a file something of its length stands in
 * its place.
 */
export const ERASURE = `
  c.erased_at IS NOT NULL OR d.erased IS NOT NULL AS erased, CASE WHEN c.erased_at IS NULL THEN d.order_id END AS order_id`

/** Reads what `Dialect.uuid` selects. */
export const receiptOf = ({ receipt }: Row): string => uuidFrom(receipt as string)

export const receiptFromRow = (row: Row): Receipt => ({
  receiptId: receiptOf(row),
  orderId: row.order_id as string | null,
  status: row.status as number,
  receivedAt: row.received_at as number,
  duplicate: typeof row.echo_of === 'number',
})

export const orderStateFromRow = (row: Row): OrderState => ({
  orderId: row.order_id as string,
  status: row.status as number,
  receiptId: receiptOf(row),
  receivedAt: row.received_at as number,
})

const placedFromRow = (row: Row) => ({
  ...receiptFromRow(row),
  position: row.position as number,
  customerId: row.customer_id as string,
  erased: Boolean(row.erased),
})

export const deliveryFromRow = (row: Row): Delivery => ({
  ...placedFromRow(row),
  payload: row.payload as Uint8Array,
  origin: originFromRow(row),
})

export const originFromRow = (row: Row): Delivery['origin'] =>
  originFrom(row.origin, row.key_label as string | null, Boolean(row.erased))

export const summaryFromRow = (row: Row): DeliverySummary => ({
  ...placedFromRow(row),
  payloadBytes: row.payload_bytes as number,
})

export const orderFromRow = (row: Row): Order => ({
  ...orderStateFromRow(row),
  customerId: row.customer_id as string,
  position: row.position as number,
  payloadBytes: row.payload_bytes as number,
})
