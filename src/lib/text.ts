/** Lower-cases A to Z and nothing else: no locale, no Unicode folding (the Kelvin sign stays itself). */
export const asciiLowerCase = (text: string): string => text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase())

/**
 * Byte text is UTF-8 with one character for each byte, which is what decoding it as latin1 gives. It is cheaper to make and to
 * slice than decoded text, and ASCII reads the same in both.
 */
const NOT_ASCII = /[\x80-\xff]/

export const fromByteText = (text: string): string =>
  NOT_ASCII.test(text) ? Buffer.from(text, 'latin1').toString('utf8') : text

export const toByteText = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')

/** Whether a database can hold the text: no NUL, and no lone surrogate. */
export const isStorable = (text: string): boolean => text.isWellFormed() && !text.includes('\0')

/** Skips the UTF-8 byte order mark that some senders put before their text. Copies nothing. */
export function withoutMark(bytes: Uint8Array): Buffer {
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const marked = buffer[0] === 0xef && buffer[1] === 0xbb && buffer[2] === 0xbf
  return marked ? buffer.subarray(3) : buffer
}
