import type { Refused } from '#src/store/sql/deliveries/deliveries.ts'
import { MAX_ORIGIN_BYTES, writeOrigin } from '#src/store/sql/deliveries/origins.ts'
import type { NewDelivery, Receipt } from '#src/store/store.ts'

/**
 * A batch on its way to the writer thread. Cloning objects would be expensive for the request thread, so all texts are sent as
 * one string and everything else in memory that both threads share.
 */
export interface DeliveryBatch {
  /** Four texts for each delivery, separated by NUL, which none can contain: customer, receipt, order id, idempotency key. */
  readonly texts: string
  /**
   * Begins with five 64-bit numbers for each delivery: status, time of receipt, `notBefore` of the idempotency key, length of
   * the payload, length of the origin. Each payload follows, and its origin.
   */
  readonly memory: SharedArrayBuffer
  /** The most that it adds to the log. */
  readonly bytesOfLog: number
}

/** A delivery with its origin as it is stored. */
export interface StoredDelivery extends Omit<NewDelivery, 'origin'> {
  readonly origin: Uint8Array | null
}

/**
 * The outcome of one delivery: null if it was stored under its own receipt, `key-reused` if its idempotency key came with
 * other bytes before, `erased` if its customer was, `fault` if it failed alone.
 */
export type RowOutcome = Receipt | Refused | { readonly fault: string } | null

const SEPARATOR = '\0'
const TEXTS = 4
const MIN_MEMORY = 256 * 1024
/** Pages of indexes that are written for one delivery alone, of 4 KiB each. */
const BYTES_OF_INDEXES = 3 * 4096
const NUMBERS = 5
const BYTES_OF_NUMBERS = NUMBERS * Float64Array.BYTES_PER_ELEMENT

/** Uses `inTurn` buffers in rotation, so at most that many batches may be under way. */
export function createPacker(inTurn: number): (deliveries: readonly NewDelivery[]) => DeliveryBatch {
  const memories = Array.from({ length: inTurn }, () => new SharedArrayBuffer(MIN_MEMORY))

  return (deliveries) => {
    const payloadsAt = deliveries.length * BYTES_OF_NUMBERS
    const most = deliveries.length * (BYTES_OF_NUMBERS + MAX_ORIGIN_BYTES)
    const length = deliveries.reduce((sum, { payload }) => sum + payload.length, most)
    let memory = memories.shift() as SharedArrayBuffer
    if (length > memory.byteLength) memory = new SharedArrayBuffer(length)
    memories.push(memory)
    const texts: string[] = []
    const numbers = new Float64Array(memory, 0, deliveries.length * NUMBERS)
    const bytes = new Uint8Array(memory)
    let next = 0
    let end = payloadsAt
    for (const { customerId, receiptId, orderId, idempotency, status, receivedAt, payload, origin } of deliveries) {
      texts.push(customerId, receiptId, orderId ?? '', idempotency?.key ?? '')
      numbers[next++] = status
      numbers[next++] = receivedAt
      numbers[next++] = idempotency?.notBefore ?? 0
      numbers[next++] = payload.length
      bytes.set(payload, end)
      end += payload.length
      const start = end
      if (origin !== null) end = writeOrigin(origin, bytes, start)
      numbers[next++] = end - start
    }
    return { texts: texts.join(SEPARATOR), memory, bytesOfLog: length + deliveries.length * BYTES_OF_INDEXES }
  }
}

export function unpackBatch({ texts, memory }: DeliveryBatch): StoredDelivery[] {
  const text = texts.split(SEPARATOR)
  const count = text.length / TEXTS
  const numbers = new Float64Array(memory, 0, count * NUMBERS)
  // Copied, because neither SQLite nor the hash function accepts shared memory.
  const bytes = Buffer.from(Buffer.from(memory, numbers.byteLength, bytesAfter(numbers)))
  let end = 0
  const take = (length: number): Buffer => {
    const start = end
    end += length
    return bytes.subarray(start, end)
  }

  return Array.from({ length: count }, (_, index) => {
    const [textAt, at] = [index * TEXTS, index * NUMBERS]
    const key = text[textAt + 3]
    const originLength = numbers[at + 4] as number
    return {
      customerId: text[textAt] as string,
      receiptId: text[textAt + 1] as string,
      orderId: text[textAt + 2] || null,
      status: numbers[at] as number,
      receivedAt: numbers[at + 1] as number,
      idempotency: key ? { key, notBefore: numbers[at + 2] as number } : null,
      payload: take(numbers[at + 3] as number),
      origin: originLength === 0 ? null : take(originLength),
    }
  })
}

/** Returns the bytes of payloads and origins. */
function bytesAfter(numbers: Float64Array): number {
  let sum = 0
  for (let i = 0; i < numbers.length; i += NUMBERS) sum += (numbers[i + 3] as number) + (numbers[i + 4] as number)
  return sum
}
