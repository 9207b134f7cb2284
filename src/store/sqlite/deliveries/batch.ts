import type { NewDelivery, Receipt } from '#src/store/store.ts'
import type { Span } from './recent-commits.ts'

/**
 * A batch on its way to the writer thread. Cloning objects would be expensive for the request thread, so all texts are sent as
 * one string and everything else in memory that both threads share.
 */
export interface DeliveryBatch {
  /** Four texts for each delivery, separated by NUL, which none can contain: customer, receipt, order id, idempotency key. */
  readonly texts: string
  /**
   * Begins with four 64-bit numbers for each delivery: status, time of receipt, `notBefore` of the idempotency key, length of
   * the payload. The payloads follow.
   */
  readonly memory: SharedArrayBuffer
}

/**
 * The outcome of one delivery: null if it was stored under its own receipt, `key-reused` if its idempotency key came with
 * other bytes before, `erased` if its customer was, `fault` if it failed alone.
 */
export type RowOutcome = Receipt | 'key-reused' | 'erased' | { readonly fault: string } | null

export interface BatchOutcome {
  /** Null if every delivery was stored under its own receipt. */
  readonly outcomes: RowOutcome[] | null
  /** The positions stored; null if some in between may be missing. */
  readonly span: Span | null
}

const SEPARATOR = '\0'
const SMALLEST_MEMORY = 256 * 1024
const BYTES_OF_NUMBERS = 4 * Float64Array.BYTES_PER_ELEMENT

/** Uses `inTurn` buffers in rotation, so at most that many batches may be under way. */
export function createPacker(inTurn: number): (deliveries: readonly NewDelivery[]) => DeliveryBatch {
  const memories = Array.from({ length: inTurn }, () => new SharedArrayBuffer(SMALLEST_MEMORY))

  return (deliveries) => {
    const payloadsAt = deliveries.length * BYTES_OF_NUMBERS
    const length = deliveries.reduce((sum, { payload }) => sum + payload.length, payloadsAt)
    let memory = memories.shift() as SharedArrayBuffer
    if (length > memory.byteLength) memory = new SharedArrayBuffer(length * 2)
    memories.push(memory)
    const texts: string[] = []
    const numbers = new Float64Array(memory, 0, deliveries.length * 4)
    const bytes = new Uint8Array(memory)
    let next = 0
    let end = payloadsAt
    for (const { customerId, receiptId, orderId, idempotency, status, receivedAt, payload } of deliveries) {
      texts.push(customerId, receiptId, orderId ?? '', idempotency?.key ?? '')
      numbers[next++] = status
      numbers[next++] = receivedAt
      numbers[next++] = idempotency?.notBefore ?? 0
      numbers[next++] = payload.length
      bytes.set(payload, end)
      end += payload.length
    }
    return { texts: texts.join(SEPARATOR), memory }
  }
}

export function unpackBatch({ texts, memory }: DeliveryBatch): NewDelivery[] {
  const text = texts.split(SEPARATOR)
  const numbers = new Float64Array(memory, 0, text.length)
  // Copied, because neither SQLite nor the hash function accepts shared memory.
  const bytes = Buffer.from(Buffer.from(memory, numbers.byteLength, bytesOfPayloads(numbers)))
  let end = 0

  return Array.from({ length: text.length / 4 }, (_, index) => {
    const at = index * 4
    const start = end
    end += numbers[at + 3] as number
    const key = text[at + 3]
    return {
      customerId: text[at] as string,
      receiptId: text[at + 1] as string,
      orderId: text[at + 2] || null,
      status: numbers[at] as number,
      receivedAt: numbers[at + 1] as number,
      idempotency: key ? { key, notBefore: numbers[at + 2] as number } : null,
      payload: bytes.subarray(start, end),
    }
  })
}

function bytesOfPayloads(numbers: Float64Array): number {
  let sum = 0
  for (let i = 3; i < numbers.length; i += 4) sum += numbers[i] as number
  return sum
}
