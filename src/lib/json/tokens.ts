/** Returned by the functions below if there is no such token (RFC 8259); otherwise they return its exclusive end. */
export const NOT_ONE = -1

const QUOTE = 0x22
const PLUS = 0x2b
const MINUS = 0x2d
const POINT = 0x2e
const ZERO = 0x30
const BACKSLASH = 0x5c
const LETTER_E = 0x45
const LETTER_U = 0x75
const LOWER_CASE = 0x20

/** Marks the bytes of a text with 1: one table look-up per byte is cheaper than three comparisons. */
const tableOf = (text: string): Uint8Array => {
  const table = new Uint8Array(256)
  for (const byte of Buffer.from(text, 'latin1')) table[byte] = 1
  return table
}
const FIRST_PRINTABLE = 0x20
const CONTROLS = String.fromCharCode(...Array(FIRST_PRINTABLE).keys())
const ENDS_PLAIN_TEXT = tableOf(`"\\${CONTROLS}`)
const CAN_BE_ESCAPED = tableOf('"\\/bfnrt')
const HEXADECIMAL = tableOf('0123456789abcdefABCDEF')
const TRUE = Buffer.from('true')
const FALSE = Buffer.from('false')
const NULL = Buffer.from('null')

/** Out-of-bounds reads would make V8 deoptimise the callers, so this checks the index first. */
const byteAt = (bytes: Uint8Array, place: number): number => (place < bytes.length ? (bytes[place] as number) : NOT_ONE)

/** Returns the index of the last quote, after which no string can end; -1 if there is none. */
export function lastQuoteIn(bytes: Uint8Array): number {
  let place = bytes.length - 1
  while (place >= 0 && bytes[place] !== QUOTE) place--
  return place
}

/**
 * Returns the end of the string whose opening quote is at `start`. The last quote in the bytes, at `lastQuote`, stops every
 * inner loop, which therefore need not compare with the length.
 */
export function endOfString(bytes: Uint8Array, start: number, lastQuote: number): number {
  let end = start + 1
  while (end <= lastQuote) {
    while (ENDS_PLAIN_TEXT[bytes[end] as number] === 0) end++
    const byte = bytes[end]
    if (byte === QUOTE) return end + 1
    if (byte !== BACKSLASH || !isEscape(bytes, end)) return NOT_ONE
    end += bytes[end + 1] === LETTER_U ? 6 : 2
  }
  return NOT_ONE
}

/** Returns the end of a number, true, false or null. */
export function endOfLiteral(bytes: Uint8Array, start: number): number {
  const first = bytes[start] as number
  if (first === MINUS || isDigit(first)) return endOfNumber(bytes, start)
  const literal = first === TRUE[0] ? TRUE : first === FALSE[0] ? FALSE : NULL
  if (start + literal.length > bytes.length) return NOT_ONE
  for (let i = 0; i < literal.length; i++) if (bytes[start + i] !== literal[i]) return NOT_ONE
  return start + literal.length
}

function isEscape(bytes: Uint8Array, start: number): boolean {
  const kind = byteAt(bytes, start + 1)
  if (kind !== LETTER_U) return CAN_BE_ESCAPED[kind] === 1
  return [2, 3, 4, 5].every((digit) => HEXADECIMAL[byteAt(bytes, start + digit)] === 1)
}

function endOfNumber(bytes: Uint8Array, start: number): number {
  const whole = bytes[start] === MINUS ? start + 1 : start
  let end = byteAt(bytes, whole) === ZERO ? whole + 1 : endOfDigits(bytes, whole)
  if (end !== NOT_ONE && byteAt(bytes, end) === POINT) end = endOfDigits(bytes, end + 1)
  if (end !== NOT_ONE && (byteAt(bytes, end) | LOWER_CASE) === (LETTER_E | LOWER_CASE)) {
    const sign = byteAt(bytes, end + 1)
    end = endOfDigits(bytes, sign === PLUS || sign === MINUS ? end + 2 : end + 1)
  }
  return end
}

/** Requires at least one digit. */
function endOfDigits(bytes: Uint8Array, start: number): number {
  const { length } = bytes
  let end = start
  while (end < length && isDigit(bytes[end] as number)) end++
  return end === start ? NOT_ONE : end
}

const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39
