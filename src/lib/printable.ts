/**
 * What controls a terminal or cannot be seen, such as ESC, a change of the writing direction, or a space without width. Unicode has no
 * property for the characters at the end: blanks of Braille, music and hieroglyphs, a filler of Khitan, joiners of Tifinagh and Brahmi.
 */
const HIDDEN =
  /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\u{1d159}\u{13441}\u{13442}\u{16fe4}\u2d7f\u{1107f}]/u
const EACH_HIDDEN = new RegExp(HIDDEN, 'gu')
const HIDDEN_IN_LINES = new RegExp(`(?!\\r?\\n|\\t)${HIDDEN.source}`, 'gu')

export const hasHidden = (text: string): boolean => HIDDEN.test(text)

/** Replaces hidden characters: what came over the network must not control the terminal of the reader. */
export const printable = (text: string): string => text.replace(EACH_HIDDEN, '\ufffd')

/** Writes hidden characters as JSON does, such as \u001b, but for line breaks and tabs. JSON keeps its meaning. */
export const escaped = (text: string): string =>
  text.replace(HIDDEN_IN_LINES, (hidden) =>
    Array.from(
      { length: hidden.length },
      (_, index) => `\\u${hidden.charCodeAt(index).toString(16).padStart(4, '0')}`,
    ).join(''),
  )

/** Joins the lines of a text: what others wrote must not look like a line of ours. */
export const oneLine = (text: string): string => text.replaceAll(/\s*[\r\n\u2028\u2029]\s*/g, ' ')

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

/** Joins the first `max`, and says how many more there are. */
export const listed = (all: readonly string[], max = 5, separator = ', '): string =>
  [...all.slice(0, max), ...(all.length > max ? [`and ${all.length - max} more`] : [])].join(separator)

/** Returns `1 delivery`, `2 deliveries` or `1,000 orders`. */
export const counted = (number: number, one: string, several = `${one}s`): string =>
  `${number.toLocaleString('en')} ${number === 1 ? one : several}`
