/** Replaces control characters: what came over the network must not control the terminal of the reader. */
export const printable = (text: string): string => text.replace(/\p{C}/gu, '\ufffd')

const PLAIN = /^[\w@%+=:,./-]+$/

/**
 * Returns a text as one word for a POSIX shell, to be pasted into a terminal. No control character is shown as it is. A shell cannot
 * hold NUL, and would lose the end of a text that has control characters and ends with newlines.
 */
export function shellWord(text: string): string {
  if (PLAIN.test(text)) return text
  if (!/\p{C}/u.test(text)) return `'${text.replaceAll("'", String.raw`'\''`)}'`
  const octal = Array.from(Buffer.from(text), (byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('')
  return `"$(printf '${octal}')"`
}

/** Returns `1 delivery`, `2 deliveries` or `1,000 orders`. */
export const counted = (number: number, one: string, several = `${one}s`): string =>
  `${number.toLocaleString('en')} ${number === 1 ? one : several}`
