export const UUID_BYTES = 16
const UUID_CHARACTERS = 36

/** Index in the text of a UUID of the two digits of each byte. */
const PLACES = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34]
const HYPHEN = 45

/** The value of a digit by its character; negative for other characters. */
const DIGITS = new Int8Array(256).fill(-1)
for (const [value, digit] of [...'0123456789abcdef'].entries()) DIGITS[digit.charCodeAt(0)] = value

/** Writes the bytes of a UUID in lower case; returns false for any other text. */
export function writeUuid(text: string, into: Uint8Array, at: number): boolean {
  if (text.length !== UUID_CHARACTERS) return false
  // Its sign bit is set once a digit is not hexadecimal.
  let all = 0
  for (let i = 0; i < UUID_BYTES; i++) {
    const place = PLACES[i] as number
    const high = DIGITS[text.charCodeAt(place)] ?? -1
    const low = DIGITS[text.charCodeAt(place + 1)] ?? -1
    all |= high | low
    into[at + i] = (high << 4) | low
  }
  return all >= 0 && isHyphen(text, 8) && isHyphen(text, 13) && isHyphen(text, 18) && isHyphen(text, 23)
}

const isHyphen = (text: string, place: number): boolean => text.charCodeAt(place) === HYPHEN

/** PostgreSQL gives the usual form, SQLite 32 hexadecimal digits. */
export function uuidFrom(text: string): string {
  if (text.length !== 32) return text
  const digits = text.toLowerCase()
  const parts = [digits.slice(0, 8), digits.slice(8, 12), digits.slice(12, 16), digits.slice(16, 20), digits.slice(20)]
  return parts.join('-')
}

/** Returns the smallest receipt of a time, as 32 hexadecimal digits: a version 7 UUID begins with its milliseconds. */
export const firstReceiptOf = (time: number): string =>
  Math.min(Math.max(time, 0), 2 ** 48 - 1)
    .toString(16)
    .padStart(12, '0')
    .padEnd(32, '0')
