import { isoMilliseconds } from '#src/lib/clock.ts'
import { itemAnswer, payloadAnswer } from '#src/purchase/delivery-answer.ts'
import { reasonAnswer, refusalAnswer } from '#src/purchase/refusals/refusal-answer.ts'
import { STATUS_MEANINGS } from '#src/purchase/status.ts'
import type { DeliverySummary, KeptOrigin, OrderState, Refusal } from '#src/store/store.ts'
import type { Times } from '../output/times.ts'

/** A delivery as JSON shows it, with the field names of the API. */
export const deliveryJson = (delivery: Omit<DeliverySummary, 'payloadBytes'>, payload?: Uint8Array) => ({
  ...itemAnswer(delivery),
  ...(delivery.orderId !== null && { OrderID: delivery.orderId }),
  CustomerID: delivery.customerId,
  ...(payload && !delivery.erased && payloadAnswer(payload)),
})

export const statusText = (status: number): string => `${status} ${STATUS_MEANINGS[status] ?? ''}`.trim()

export const keyText = ({ keyId, keyLabel }: Pick<KeptOrigin, 'keyId' | 'keyLabel'>): string =>
  keyLabel ? `${keyId} (${keyLabel})` : keyId

export const deliveryHeading = (times: Times) => [
  times.heading('time'),
  'order',
  'status',
  '',
  'bytes',
  'customer',
  'receipt',
]

export const deliveryCells = (
  { receivedAt, orderId, status, duplicate, erased, payloadBytes, customerId, receiptId }: DeliverySummary,
  times: Times,
  customer: string | undefined,
): string[] => [
  times.text(receivedAt),
  orderId ?? '',
  statusText(status),
  erased ? 'erased' : duplicate ? 'duplicate' : '',
  erased ? '' : String(payloadBytes),
  customer ?? customerId,
  receiptId,
]

export const orderJson = (order: OrderState & { customerId: string }) => ({
  OrderID: order.orderId,
  CustomerID: order.customerId,
  Status: order.status,
  ReceiptID: order.receiptId,
  ReceivedAt: isoMilliseconds(order.receivedAt),
})

/** A refusal as JSON shows it, with the field names of the API. */
export const refusalJson = (refusal: Refusal) => ({
  ...refusalAnswer(refusal),
  ...reasonAnswer(refusal),
  CustomerID: refusal.customerId,
  Address: refusal.address,
})
