import type { DeliveryQuery } from '#src/purchase/orders/delivery-search.ts'
import { readStatus, STATUS_MEANINGS } from '#src/purchase/status.ts'
import { type Input, Misuse, type Option } from '../command.ts'
import { readMoment } from './time.ts'

const meanings = STATUS_MEANINGS.map((meaning, status) => `${status} ${meaning}`).join(', ')

export const purchaseFilters = {
  customer: { type: 'string', value: 'CUSTOMER', about: 'Only of one customer: e-mail address or id' },
  order: { type: 'string', value: 'ORDERID', about: 'Only of this order' },
  product: { type: 'string', value: 'CODE', about: 'Only those that name this product' },
  status: { type: 'string', value: 'STATUS', about: `Only of this Status: ${meanings}` },
  from: { type: 'string', value: 'TIME', about: 'From when on: 2026-11-21T14:30:00Z, 2026-11-21 (UTC) or 24h (ago)' },
  to: { type: 'string', value: 'TIME', about: 'Until before when, in the same forms' },
  receipt: { type: 'string', value: 'RECEIPTID', about: 'Only the one of this receipt' },
} as const satisfies Record<string, Option>

export type PurchaseFilter = Omit<DeliveryQuery, 'after' | 'withPayload'>

export function readPurchaseFilters(input: Input, now: number): PurchaseFilter {
  const status = input.text('status')
  const statusNumber = status === undefined ? undefined : readStatus(status)
  if (status !== undefined && statusNumber === undefined) {
    throw new Misuse(`--status takes a number (${meanings}), not ${JSON.stringify(status)}`)
  }
  return {
    customer: input.text('customer'),
    orderId: input.text('order'),
    product: input.text('product'),
    status: statusNumber,
    from: readMoment('--from', input.text('from'), now),
    to: readMoment('--to', input.text('to'), now),
    receipt: input.text('receipt'),
  }
}
