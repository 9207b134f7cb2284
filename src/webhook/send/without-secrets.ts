import { KEPT_BYTES } from './exchange.ts'

const REMOVED = '[removed]'
/** Shorter values are words that any answer may have. */
const MIN_LENGTH = 4
/** The first word of a value may name its kind, as `Bearer` does. */
const MIN_FIRST_LENGTH = 8
const WEBHOOK_SECRET = /whsec_[A-Za-z0-9+/]+={0,2}/g
/** How JSON (and literals of some languages), URLs and HTML write characters. */
const ESCAPES = [
  /\\(?:(?:u00|x)([0-9a-f]{2})|(["'\\/]))/gi,
  /%([0-9a-f]{2})/gi,
  /&(?:#x0*([0-9a-f]{2})|#0*(\d{2,3})|(amp|lt|gt|quot|apos));/gi,
]
const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }
/** What may be the beginning of an escaped character, at the end of a text that was cut. */
const ESCAPED_IN_PART = /(?:\\(?:[ux][0-9a-f]{0,3})?|%[0-9a-f]?|&#?[0-9a-z]{0,6})$/i
/** HTML with JSON in it is escaped twice. */
const MAX_ESCAPES = 2

/** A text of one character for each byte; `at` says where each character begins in the original, and where the last one ends. */
interface Text {
  readonly characters: string
  readonly at: readonly number[]
}

type Span = readonly [begin: number, end: number]

/**
 * Removes what a receiver must not show to others from the beginning of its answer: these values, parts of them, and every webhook
 * secret, also as JSON, HTML and URLs escape them.
 */
export function withoutSecrets(body: Buffer, values: readonly string[]): Buffer {
  if (body.length < MIN_LENGTH) return body
  const original = body.toString('latin1')
  const forms = [...new Set(values.flatMap(formsOf))]
  const at = Array.from({ length: body.length + 1 }, (_, index) => index)
  const spans = readings({ characters: original, at }, MAX_ESCAPES).flatMap((text) => spansIn(text, forms))
  return spans.length === 0 ? body : Buffer.from(without(original, spans), 'latin1').subarray(0, KEPT_BYTES)
}

/** A value, its words, and the user name and the password of Basic authentication. */
function formsOf(value: string): string[] {
  const [first = '', ...words] = value.split(/[\s,;=]+/)
  const decoded = words.map((word) => Buffer.from(word, 'base64').toString('latin1'))
  const readable = decoded.filter((text) => /^[ -~]+$/.test(text)).flatMap((text) => [text, ...text.split(':')])
  const forms = [value, ...words, ...readable].filter(({ length }) => length >= MIN_LENGTH)
  return first.length >= MIN_FIRST_LENGTH ? [first, ...forms] : forms
}

/** A text as it is, and what it means by each way to escape characters. */
const readings = (text: Text, depth: number): Text[] => [
  text,
  ...(depth === 0 ? [] : ESCAPES.flatMap((how) => unescaped(text, how) ?? [])).flatMap((meant) =>
    readings(meant, depth - 1),
  ),
]

/** Returns undefined if nothing is escaped in this way. */
function unescaped({ characters, at }: Text, how: RegExp): Text | undefined {
  const parts: string[] = []
  const places: number[] = []
  let from = 0
  for (const match of characters.matchAll(how)) {
    parts.push(characters.slice(from, match.index), characterOf(match))
    places.push(...at.slice(from, match.index + 1))
    from = match.index + match[0].length
  }
  if (from === 0) return undefined
  return { characters: [...parts, characters.slice(from)].join(''), at: [...places, ...at.slice(from)] }
}

/** The groups of an escape are a code in hexadecimal, and then one in decimal, a name, or the character itself. */
function characterOf([, hexadecimal, other = '', name = '']: RegExpMatchArray): string {
  if (hexadecimal !== undefined) return String.fromCharCode(Number.parseInt(hexadecimal, 16))
  if (/^\d/.test(other)) return String.fromCharCode(Number(other))
  return NAMED[name.toLowerCase()] ?? other
}

function spansIn({ characters, at }: Text, forms: readonly string[]): Span[] {
  const spans: Span[] = []
  const add = (begin: number, end: number): void => {
    spans.push([at[begin] ?? 0, at[end] ?? 0])
  }
  for (const { index, 0: found } of characters.matchAll(WEBHOOK_SECRET)) add(index, index + found.length)
  for (const form of forms) {
    for (let index = characters.indexOf(form); index >= 0; index = characters.indexOf(form, index + 1))
      add(index, index + form.length)
  }
  if ((at.at(-1) ?? 0) < KEPT_BYTES) return spans
  const whole = characters.replace(ESCAPED_IN_PART, '')
  for (const end of new Set([characters, whole])) {
    const length = Math.max(0, ...forms.map((form) => lengthAtEnd(end, form)))
    if (length > 0) add(end.length - length, characters.length)
  }
  return spans
}

/** How many of the first characters of a form stand at the end of a text. */
function lengthAtEnd(characters: string, form: string): number {
  let length = Math.min(form.length - 1, characters.length)
  while (length > 0 && !characters.endsWith(form.slice(0, length))) length--
  return length
}

function without(original: string, spans: readonly Span[]): string {
  let result = ''
  let from = 0
  for (const [begin, end] of spans.toSorted(([one], [other]) => one - other)) {
    if (begin >= from) result += original.slice(from, begin) + REMOVED
    from = Math.max(from, end)
  }
  return result + original.slice(from)
}
