import type { Refused } from '#src/store/sql/deliveries/deliveries.ts'
import { MAX_ORIGIN_BYTES, writeOrigin } from '#src/store/sql/deliveries/origins.ts'
import type { NewDelivery, Receipt } from '#src/store/store.ts'

/**
 * A batch on its way to the writer thread. Cloning objects would be expensive for the request thread, so all texts are sent as
 * one string and everything else in memory that both threads share.
 */
export type DeliveryBatch = readonly [
  /** Four texts for each delivery, separated by NUL, which none can contain: customer, receipt, order id, idempotency key. */
  texts: string,
  /**
   * Begins with five 64-bit numbers for each delivery: status, time of receipt, `notBefore` of the idempotency key, length of
   * the payload, length of the origin. Each payload follows, and its origin. A number is one of the memories that both threads
   * have; what is too large for them has its own.
   */
  memory: number | SharedArrayBuffer,
  /** The most that it adds to the log. */
  bytesOfLog: number,
]

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
/** As many batches may be under way. */
const MEMORIES = 2
/** More than a batch has, except for one delivery that is larger. The system provides only what is used. */
const BYTES_OF_MEMORY = 2.5 * 1024 * 1024
/** Pages of indexes that are written for one delivery alone, of 4 KiB each. */
const BYTES_OF_INDEXES = 3 * 4096
const NUMBERS = 5
const BYTES_OF_NUMBERS = NUMBERS * Float64Array.BYTES_PER_ELEMENT

/** Makes what is given to a thread once, because giving it with each batch costs more than all else in the message. */
export const createMemories = (): readonly SharedArrayBuffer[] =>
  Array.from({ length: MEMORIES }, () => new SharedArrayBuffer(BYTES_OF_MEMORY))

/** Uses the memories in rotation. */
export function createPacker(
  memories: readonly SharedArrayBuffer[],
): (deliveries: readonly NewDelivery[]) => DeliveryBatch {
  let turn = 0

  return (deliveries) => {
    const payloadsAt = deliveries.length * BYTES_OF_NUMBERS
    const most = deliveries.length * (BYTES_OF_NUMBERS + MAX_ORIGIN_BYTES)
    const length = deliveries.reduce((sum, { payload }) => sum + payload.length, most)
    turn = (turn + 1) % memories.length
    const shared = memories[turn] as SharedArrayBuffer
    const memory = length > shared.byteLength ? new SharedArrayBuffer(length) : shared
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
    const bytesOfLog = length + deliveries.length * BYTES_OF_INDEXES
    return [texts.join(SEPARATOR), memory === shared ? turn : memory, bytesOfLog]
  }
}

export function unpackBatch([texts, place]: DeliveryBatch, memories: readonly SharedArrayBuffer[]): StoredDelivery[] {
  const memory = typeof place === 'number' ? (memories[place] as SharedArrayBuffer) : place
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
