import { asciiLowerCase } from '#src/lib/ascii.ts'

const LONGEST = 254

/**
 * The form in which e-mail addresses are stored and compared: ASCII spaces trimmed, ASCII letters in lower case, nothing
 * else folded. Undefined for text that no account can have, which keeps NUL and lone surrogates away from the store.
 */
export function canonicalEmail(text: string): string | undefined {
  const email = asciiLowerCase(text.replace(/^ +| +$/g, ''))
  const shape = /^[^\s@\p{Cc}]+@[^\s@\p{Cc}]+$/u
  return email.length <= LONGEST && email.isWellFormed() && shape.test(email) ? email : undefined
}
