import { isoMilliseconds } from '#src/lib/clock.ts'
import { type RawJson, rawJson } from '#src/lib/json/raw.ts'
import { withoutMark } from '#src/lib/text.ts'
import type { Delivery, DeliverySummary, KeptOrigin } from '#src/store/store.ts'

/** Returns the fields that every answer about a delivery has. */
export const itemAnswer = ({
  receiptId,
  status,
  duplicate,
  receivedAt,
  erased,
}: Omit<DeliverySummary, 'payloadBytes'>) => ({
  ReceiptID: receiptId,
  Status: status,
  Duplicate: duplicate,
  ReceivedAt: isoMilliseconds(receivedAt),
  ...(erased && { Erased: true }),
})

/** Drops the byte order mark, which may only begin a text. */
export const payloadAnswer = (payload: Uint8Array): { Payload: RawJson } => ({ Payload: rawJson(withoutMark(payload)) })

/** Returns one delivery with its payload. */
export const deliveryAnswer = (delivery: Delivery) => ({ ...summaryAnswer(delivery), ...keptPayload(delivery) })

/** Also says where the delivery came from. */
export const deliveryOriginAnswer = (delivery: Delivery, withPayload = true) => ({
  ...summaryAnswer(delivery),
  ...senderAnswer(delivery.origin),
  RequestID: delivery.origin?.requestId ?? null,
  ...(withPayload && keptPayload(delivery)),
})

/** Returns the API key and the address that a delivery came from. */
export const senderAnswer = (origin: KeptOrigin | null | undefined) => ({
  KeyID: origin?.keyId ?? null,
  KeyLabel: origin?.keyLabel ?? null,
  Address: origin?.address ?? null,
})

/** Returns one delivery without its payload, for its supplier. */
export const supplierSummaryAnswer = (delivery: Omit<DeliverySummary, 'payloadBytes'>) => ({
  ...itemAnswer(delivery),
  ...orderAnswer(delivery),
})

/** Returns one delivery without its payload. */
export const summaryAnswer = (delivery: Omit<DeliverySummary, 'payloadBytes'>) => ({
  ...supplierSummaryAnswer(delivery),
  CustomerID: delivery.customerId,
})

const keptPayload = ({ erased, payload }: Delivery) => !erased && payloadAnswer(payload)

export const orderAnswer = ({ orderId }: Pick<Delivery, 'orderId'>) => (orderId === null ? {} : { OrderID: orderId })
