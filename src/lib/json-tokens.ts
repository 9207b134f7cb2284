/** The ends of JSON's tokens (RFC 8259), exclusive; NOT_ONE where the text holds no such token at that place. */
export const NOT_ONE = -1

const QUOTE = 0x22
const BACKSLASH = 0x5c
const MINUS = 0x2d
const ZERO = 0x30
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y

/** Of the string whose opening quote is at `start`. */
export function endOfString(text: string, start: number): number {
  for (let i = start + 1; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) return i + 1
    if (code < 0x20) return NOT_ONE
    if (code === BACKSLASH) {
      ESCAPE.lastIndex = i
      if (!ESCAPE.test(text)) return NOT_ONE
      i = ESCAPE.lastIndex - 1
    }
  }
  return NOT_ONE
}

/** Of a number, true, false or null. */
export function endOfLiteral(text: string, start: number): number {
  const first = text.charCodeAt(start)
  if (first === MINUS || isDigit(first)) return endOfNumber(text, start)
  if (text.startsWith('true', start) || text.startsWith('null', start)) return start + 4
  return text.startsWith('false', start) ? start + 5 : NOT_ONE
}

function endOfNumber(text: string, start: number): number {
  const whole = text.charCodeAt(start) === MINUS ? start + 1 : start
  let end = text.charCodeAt(whole) === ZERO ? whole + 1 : endOfDigits(text, whole)
  if (end !== NOT_ONE && text[end] === '.') end = endOfDigits(text, end + 1)
  if (end !== NOT_ONE && (text[end] === 'e' || text[end] === 'E')) {
    const sign = text[end + 1]
    end = endOfDigits(text, sign === '+' || sign === '-' ? end + 2 : end + 1)
  }
  return end
}

/** At least one. */
function endOfDigits(text: string, start: number): number {
  let end = start
  while (isDigit(text.charCodeAt(end))) end++
  return end === start ? NOT_ONE : end
}

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39
