import { endOfLiteral, endOfString, lastQuoteIn, NOT_ONE } from '#src/lib/json/tokens.ts'
import { invalidRequest } from '#src/lib/request/invalid-request.ts'
import { asciiLowerCase } from '#src/lib/text.ts'

/** What one line of an upload delivers. */
export interface LineDelivery {
  readonly body: Buffer
  readonly idempotencyKey: string | undefined
}

/** The path of the key in refusals. */
export const KEY_PATH = '/IdempotencyKey'

export type LineReader = (line: Buffer) => LineDelivery

/**
 * Reads a line: the body itself, or an object whose only members are IdempotencyKey and Body. Nothing can be both, because a body
 * needs a Status.
 */
export function createLineReader(fieldCase: 'any' | 'exact'): LineReader {
  const spelled = (name: string): string => (fieldCase === 'any' ? asciiLowerCase(name) : name)
  const [keyName, bodyName] = [spelled('IdempotencyKey'), spelled('Body')]

  return (line) => {
    const values = new Map<string, Buffer>()
    const isWrapper =
      eachMember(line, (name, value) => {
        const known = spelled(name)
        if ((known !== keyName && known !== bodyName) || values.has(known)) return false
        values.set(known, value)
        return true
      }) && values.size === 2
    const [key, body] = [values.get(keyName), values.get(bodyName)]
    if (!isWrapper || key === undefined || body === undefined) return { body: line, idempotencyKey: undefined }
    const idempotencyKey = parsed(key)
    if (idempotencyKey === null) return { body, idempotencyKey: undefined }
    if (typeof idempotencyKey !== 'string')
      throw invalidRequest([{ path: KEY_PATH, message: 'must be a string or null' }])
    return { body, idempotencyKey }
  }
}

function parsed(json: Buffer): unknown {
  try {
    return JSON.parse(json.toString())
  } catch {
    return undefined
  }
}

const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const COLON = 0x3a
const COMMA = 0x2c
const QUOTE = 0x22

/**
 * Visits the members of an object until `visit` returns false. Returns whether it visited all of them and nothing follows the
 * object. Does not look into the values: whoever uses one must check it.
 */
function eachMember(bytes: Buffer, visit: (name: string, value: Buffer) => boolean): boolean {
  const lastQuote = lastQuoteIn(bytes)
  let place = afterSpace(bytes, 0)
  if (byteAt(bytes, place) !== OPEN_OBJECT) return false
  do {
    const nameStart = afterSpace(bytes, place + 1)
    if (byteAt(bytes, nameStart) !== QUOTE) return false
    const nameEnd = endOfString(bytes, nameStart, lastQuote)
    if (nameEnd === NOT_ONE) return false
    const colon = afterSpace(bytes, nameEnd)
    if (byteAt(bytes, colon) !== COLON) return false
    const name = parsed(bytes.subarray(nameStart, nameEnd))
    const start = afterSpace(bytes, colon + 1)
    const end = endOfValue(bytes, start, lastQuote)
    if (end === NOT_ONE || typeof name !== 'string' || !visit(name, bytes.subarray(start, end))) return false
    place = afterSpace(bytes, end)
  } while (byteAt(bytes, place) === COMMA)
  return byteAt(bytes, place) === CLOSE_OBJECT && afterSpace(bytes, place + 1) === bytes.length
}

function endOfValue(bytes: Buffer, start: number, lastQuote: number): number {
  const first = byteAt(bytes, start)
  if (first === QUOTE) return endOfString(bytes, start, lastQuote)
  if (first !== OPEN_OBJECT && first !== OPEN_ARRAY) return first === NOT_ONE ? NOT_ONE : endOfLiteral(bytes, start)
  let depth = 0
  let place = start
  while (place < bytes.length) {
    const byte = bytes[place]
    if (byte === QUOTE) {
      place = endOfString(bytes, place, lastQuote)
      if (place === NOT_ONE) return NOT_ONE
      continue
    }
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) depth++
    else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) depth--
    place++
    if (depth === 0) return place
  }
  return NOT_ONE
}

function afterSpace(bytes: Buffer, start: number): number {
  let place = start
  while (place < bytes.length && isSpace(bytes[place] as number)) place++
  return place
}

const isSpace = (byte: number): boolean => byte === 0x20 || byte === 0x09 || byte === 0x0d || byte === 0x0a

const byteAt = (bytes: Buffer, place: number): number => (place < bytes.length ? (bytes[place] as number) : NOT_ONE)
