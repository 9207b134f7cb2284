import { timeOfId } from '#src/lib/random.ts'
import type { Delivery, DeliveryOrigin } from '../../store.ts'
import type { Dialect } from '../dialect.ts'
import { firstReceiptOf, UUID_BYTES, uuidFrom, writeUuid } from '../uuid.ts'

/** Longer than every address without a zone. */
const MAX_ADDRESS = 64
/** As src/http/request-head.ts has it. */
const MAX_REQUEST_ID = 128

/** No origin takes more bytes. */
export const MAX_ORIGIN_BYTES = UUID_BYTES + 1 + MAX_REQUEST_ID + MAX_ADDRESS

/**
 * Writes an origin, and returns the place after it. `into` must have room for MAX_ORIGIN_BYTES. An origin is one value, because three
 * would take several percent of a delivery's time:
 * - the API key, as the 16 bytes of its UUID;
 * - 0 and the 16 bytes of the request id if that is a UUID, else its length and its ASCII characters;
 * - the characters of the address.
 *
 * After an erasure only the API key is left, in a file with zeros in place of the rest.
 */
export function writeOrigin({ keyId, address, requestId }: DeliveryOrigin, into: Uint8Array, start: number): number {
  // Shared memory has what was there before.
  if (!writeUuid(keyId, into, start)) into.fill(0, start, start + UUID_BYTES)
  const place = start + UUID_BYTES
  let end = place + 1
  if (writeUuid(requestId, into, end)) {
    into[place] = 0
    end += UUID_BYTES
  } else {
    into[place] = writeCharacters(requestId, MAX_REQUEST_ID, into, end)
    end += into[place] as number
  }
  return end + writeCharacters(address, MAX_ADDRESS, into, end)
}

/** A request has less time to arrive. */
const MAX_REQUEST_MILLISECONDS = 60_000

/** Where the bytes of a request id begin in an origin, counted from 1. */
export const REQUEST_START = UUID_BYTES + 1

/** Returns what an origin has for a request id, and the receipts that may belong to it; undefined if the id tells no time. */
export function requestIn(requestId: string) {
  const madeAt = timeOfId(requestId)
  const bytes = Buffer.alloc(1 + UUID_BYTES)
  if (madeAt === undefined || !writeUuid(requestId, bytes, 1)) return undefined
  return { bytes, first: firstReceiptOf(madeAt), end: firstReceiptOf(madeAt + MAX_REQUEST_MILLISECONDS) }
}

function writeCharacters(text: string, most: number, into: Uint8Array, at: number): number {
  const length = Math.min(text.length, most)
  for (let i = 0; i < length; i++) into[at + i] = text.charCodeAt(i)
  return length
}

export function originBytes(origin: DeliveryOrigin): Uint8Array {
  const bytes = Buffer.allocUnsafe(MAX_ORIGIN_BYTES)
  return bytes.subarray(0, writeOrigin(origin, bytes, 0))
}

/** Returns what origins have for an API key; nothing that any of them has for a text that is no UUID in lower case. */
export function keyBytes(keyId: string): Uint8Array {
  const bytes = Buffer.alloc(UUID_BYTES)
  return writeUuid(keyId, bytes, 0) ? bytes : Buffer.alloc(0)
}

/** Where the groups of digits of a UUID begin in its bytes, and how long they are. */
const GROUPS = ['1, 4', '5, 2', '7, 2', '9, 2', '11, 6']

/** SQL for the label of the API key of a delivery `d`. */
export const keyLabelOf = ({ pick }: Dialect): string => `(
  SELECT label FROM api_key WHERE id = ${pick({
    sqlite: `lower(${GROUPS.map((group) => `hex(substr(d.origin, ${group}))`).join(" || '-' || ")})`,
    postgres: "encode(substr(d.origin, 1, 16), 'hex')::uuid::text",
  })})`

/** Reads what `writeOrigin` wrote; for an erased delivery only the API key. */
export function originFrom(value: unknown, keyLabel: string | null, erased: boolean): Delivery['origin'] {
  if (value === null) return null
  const bytes = Buffer.from(value as Uint8Array)
  const keyId = keyIdOf(bytes)
  if (erased || bytes.length === UUID_BYTES) return { keyId, keyLabel, address: null, requestId: null }
  const start = UUID_BYTES + 1
  const length = bytes[UUID_BYTES] as number
  const end = start + (length === 0 ? UUID_BYTES : length)
  const requestId = length === 0 ? uuidFrom(bytes.toString('hex', start, end)) : bytes.toString('latin1', start, end)
  return { keyId, keyLabel, address: bytes.toString('latin1', end), requestId }
}

const keyIdOf = (origin: Uint8Array): string => uuidFrom(Buffer.from(origin.subarray(0, UUID_BYTES)).toString('hex'))

/** Returns an origin of the same length without address and request id. */
export function withoutSender(origin: Uint8Array): Uint8Array {
  return Buffer.alloc(origin.length).fill(origin.subarray(0, UUID_BYTES), 0, UUID_BYTES)
}
