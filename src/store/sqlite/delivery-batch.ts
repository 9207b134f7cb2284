import type { NewDelivery, Receipt } from '../store.ts'
import type { Span } from './recent-commits.ts'

/**
 * A batch on its way to the writer worker. Cloning it as objects would cost the request thread a tenth of all it does, so
 * all texts go as one string, all numbers as one list, and the payloads through memory that both threads share.
 */
export interface DeliveryBatch {
  /** Four for each delivery, none of which can hold a NUL: customer, receipt, order id, idempotency key. */
  readonly texts: string
  /** Four for each delivery: status, time of receipt, `notBefore` of the idempotency key, length of the payload. */
  readonly numbers: number[]
  readonly payloads: SharedArrayBuffer
}

/**
 * An outcome for each delivery: null where it was stored under its own receipt, `key-reused` where its idempotency key
 * came with other bytes before, `fault` where it alone failed.
 */
export type RowOutcome = Receipt | 'key-reused' | { readonly fault: string } | null

export interface BatchOutcome {
  /** Null where every delivery was stored under its own receipt. */
  readonly outcomes: RowOutcome[] | null
  /** What was stored; null where positions may be missing in between. */
  readonly span: Span | null
}

const SEPARATOR = '\0'
const SMALLEST_MEMORY = 256 * 1024

/** `inTurn` memories are used again in turn, so no more batches than that may be under way at a time. */
export function createPacker(inTurn: number): (deliveries: readonly NewDelivery[]) => DeliveryBatch {
  const memories = Array.from({ length: inTurn }, () => new Uint8Array(new SharedArrayBuffer(SMALLEST_MEMORY)))

  return (deliveries) => {
    const length = deliveries.reduce((sum, { payload }) => sum + payload.length, 0)
    let memory = memories.shift() as Uint8Array<SharedArrayBuffer>
    if (length > memory.length) memory = new Uint8Array(new SharedArrayBuffer(length * 2))
    memories.push(memory)
    const texts: string[] = []
    const numbers: number[] = []
    let end = 0
    for (const { customerId, receiptId, orderId, idempotency, status, receivedAt, payload } of deliveries) {
      texts.push(customerId, receiptId, orderId ?? '', idempotency?.key ?? '')
      numbers.push(status, receivedAt, idempotency?.notBefore ?? 0, payload.length)
      memory.set(payload, end)
      end += payload.length
    }
    return { texts: texts.join(SEPARATOR), numbers, payloads: memory.buffer }
  }
}

export function unpackBatch({ texts, numbers, payloads }: DeliveryBatch): NewDelivery[] {
  const text = texts.split(SEPARATOR)
  const count = text.length / 4
  const lengths = Array.from({ length: count }, (_, index) => numbers[index * 4 + 3] as number)
  const length = lengths.reduce((sum, one) => sum + one, 0)
  // A copy, because neither SQLite nor the hash takes shared memory.
  const bytes = Buffer.from(Buffer.from(payloads, 0, length))
  let end = 0

  return lengths.map((payloadLength, index) => {
    const [customerId = '', receiptId = '', orderId, key] = text.slice(index * 4, index * 4 + 4)
    const [status = 0, receivedAt = 0, notBefore = 0] = numbers.slice(index * 4, index * 4 + 3)
    end += payloadLength
    return {
      customerId,
      receiptId,
      orderId: orderId || null,
      status,
      receivedAt,
      idempotency: key ? { key, notBefore } : null,
      payload: bytes.subarray(end - payloadLength, end),
    }
  })
}
