import { asciiLowerCase } from '#src/lib/text.ts'

/** Counted in UTF-16 code units. */
export const MAX_EMAIL_LENGTH = 254
const SHAPE = /^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u
const SPACE = 0x20

/**
 * Returns the form in which e-mail addresses are stored and compared: ASCII spaces trimmed, ASCII letters in lower case, nothing
 * else changed. Undefined for text that no account can have, so that NUL and lone surrogates never reach the store.
 */
export function canonicalEmail(text: string): string | undefined {
  const trimmed = trimSpaces(text)
  if (trimmed.length > MAX_EMAIL_LENGTH || !trimmed.isWellFormed() || !SHAPE.test(trimmed)) return undefined
  return asciiLowerCase(trimmed)
}

/** Without a regular expression: `/ +$/` takes quadratic time on spaces in the middle. */
function trimSpaces(text: string): string {
  let start = 0
  let end = text.length
  while (start < end && text.charCodeAt(start) === SPACE) start++
  while (end > start && text.charCodeAt(end - 1) === SPACE) end--
  return text.slice(start, end)
}
