const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/
const WORDS = ['true', 'false', 'null']

const isSpace = (code: number): boolean => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
const isSign = (code: number): boolean =>
  code === 0x7b || code === 0x7d || code === 0x5b || code === 0x5d || code === 0x2c || code === 0x3a
const QUOTE = 0x22
const BACKSLASH = 0x5c
const LINE_FEED = 0x0a

type Kind = 'space' | 'sign' | 'key' | 'string' | 'number' | 'word' | 'other'

export interface Tokens {
  readonly kinds: readonly Kind[]
  readonly ends: readonly number[]
}

/**
 * Cuts any text into tokens, whether it is JSON or not: put together they are the text. Token number i has the kind `kinds[i]` and ends
 * before `ends[i]`. Kinds: `space`, `sign` for one of {}[],: and `key`, `string`, `number`, `word`, and `other` for what is not JSON.
 */
export function tokenize(text: string): Tokens {
  const kinds: Kind[] = []
  const ends: number[] = []
  /** The string that becomes a key if a colon follows. */
  let string = -1
  for (let at = 0; at < text.length; ) {
    const start = at
    const code = text.charCodeAt(at)
    let kind: Kind = 'space'
    if (isSpace(code)) at = endOfSpace(text, at)
    else if (isSign(code)) {
      kind = 'sign'
      at++
      if (code === 0x3a && string >= 0) kinds[string] = 'key'
      string = -1
    } else if (code === QUOTE) {
      at = endOfString(text, at + 1)
      kind = at - start > 1 && text.charCodeAt(at - 1) === QUOTE ? 'string' : 'other'
      string = kind === 'string' ? kinds.length : -1
    } else {
      at = endOfWord(text, at)
      const word = text.slice(start, at)
      kind = WORDS.includes(word) ? 'word' : NUMBER.test(word) ? 'number' : 'other'
      string = -1
    }
    kinds.push(kind)
    ends.push(at)
  }
  return { kinds, ends }
}

function endOfSpace(text: string, from: number): number {
  let at = from
  while (at < text.length && isSpace(text.charCodeAt(at))) at++
  return at
}

function endOfWord(text: string, from: number): number {
  let at = from
  for (; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (isSpace(code) || isSign(code) || code === QUOTE) break
  }
  return at
}

/** A string without its end ends with the line. */
function endOfString(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === QUOTE) return at + 1
    if (code === LINE_FEED) return at
    if (code === BACKSLASH && at + 1 < text.length && text.charCodeAt(at + 1) !== LINE_FEED) at++
  }
  return text.length
}

/** Returns the index of the first of `ends` that is greater than `offset`. */
export function firstAbove(ends: readonly number[], offset: number): number {
  let low = 0
  let high = ends.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((ends[middle] ?? 0) > offset) high = middle
    else low = middle + 1
  }
  return low
}
