import { withoutMark } from '#src/lib/byte-text.ts'
import { isoMilliseconds } from '#src/lib/clock.ts'
import { type RawJson, rawJson } from '#src/lib/json/raw.ts'
import type { DeliverySummary } from '#src/store/store.ts'

/** A delivery as every answer about it says it. */
export const itemAnswer = ({ receiptId, status, duplicate, receivedAt }: Omit<DeliverySummary, 'payloadBytes'>) => ({
  ReceiptID: receiptId,
  Status: status,
  Duplicate: duplicate,
  ReceivedAt: isoMilliseconds(receivedAt),
})

/** A byte order mark may begin a text, but not stand in it. */
export const payloadAnswer = (payload: Uint8Array): { Payload: RawJson } => ({ Payload: rawJson(withoutMark(payload)) })
