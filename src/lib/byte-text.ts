/**
 * Byte text is UTF-8 with one character for each byte, as `toString` of a Buffer gives it as latin1. V8 makes it, walks it and
 * slices it in half the time of decoded text, and what is in it that is ASCII reads the same.
 */
const NOT_ASCII = /[\x80-\xff]/

export const fromByteText = (text: string): string =>
  NOT_ASCII.test(text) ? Buffer.from(text, 'latin1').toString('utf8') : text

export const toByteText = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')

/** Without the UTF-8 byte order mark that some senders put before their text. Nothing is copied. */
export function withoutMark(bytes: Uint8Array): Buffer {
  const buffer = Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)
  const marked = buffer[0] === 0xef && buffer[1] === 0xbb && buffer[2] === 0xbf
  return marked ? buffer.subarray(3) : buffer
}
