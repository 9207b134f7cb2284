import { firstAbove } from './json-tokens.ts'

const INDENT = 2
const MIN_COLUMNS = 16

/**
 * Lines of a text. Line i begins with token `first[i]` (formatted) or at the offset `first[i]` (as it was delivered), and
 * `close[i]` is the line that ends what it opens, if any.
 */
export function formattedLines(text, { kinds, ends }) {
  const first = [0]
  const depth = [0]
  const close = []
  const opened = []
  let level = 0
  let filled = false
  const begin = (token) => {
    if (filled) {
      first.push(token)
      depth.push(level)
    } else depth[depth.length - 1] = level
    filled = false
  }
  for (let token = nextSolid(kinds, 0); token < kinds.length; ) {
    const next = nextSolid(kinds, token + 1)
    const sign = kinds[token] === 'sign' ? text[ends[token] - 1] : ''
    if (sign === '{' || sign === '[') {
      filled = true
      const pair = next < kinds.length && kinds[next] === 'sign' ? sign + text[ends[next] - 1] : ''
      if (pair === '{}' || pair === '[]') {
        token = nextSolid(kinds, next + 1)
        continue
      }
      opened.push(first.length - 1)
      level++
      begin(next)
    } else if (sign === '}' || sign === ']') {
      level = Math.max(0, level - 1)
      begin(token)
      const open = opened.pop()
      if (open !== undefined) close[open] = first.length - 1
      filled = true
    } else {
      filled = true
      if (sign === ',') begin(next)
    }
    token = next
  }
  return { first, depth, close, formatted: true }
}

function nextSolid(kinds, from) {
  let token = from
  while (kinds[token] === 'space') token++
  return token
}

export function deliveredLines(text) {
  const first = [0]
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) first.push(at + 1)
  return { first, depth: [], close: [], formatted: false }
}

const startOf = (ends, token) => (token === 0 ? 0 : ends[token - 1])

/** Parts of a formatted line: `{ start, end, kind }`. A colon is followed by a gap, which is not in the text. */
export function partsOfLine({ kinds, ends }, { first }, line) {
  const parts = []
  const last = first[line + 1] ?? kinds.length
  for (let token = first[line]; token < last; token++) {
    if (kinds[token] === 'space') continue
    const start = startOf(ends, token)
    parts.push({ start, end: ends[token], kind: kinds[token] })
    if (parts.at(-2)?.kind === 'key') parts.push({ start: ends[token], end: ends[token], kind: 'gap' })
  }
  return parts
}

/** The lines of the formatted text, as text. */
export function formattedTexts(text, tokens, lines) {
  return lines.first.map((_, line) => {
    const parts = partsOfLine(tokens, lines, line)
    const words = parts.map(({ start, end, kind }) => (kind === 'gap' ? ' ' : text.slice(start, end)))
    return ' '.repeat(INDENT * lines.depth[line]) + words.join('')
  })
}

const lengthOf = ({ start, end, kind }) => (kind === 'gap' ? 1 : end - start)

/** Cuts lines into rows of `columns` characters, without those that are folded. */
export function layOut({ text, tokens, lines, folded, columns }) {
  const indentOf = (line) => Math.min(INDENT * (lines.depth[line] ?? 0), columns >> 1)
  const widthOf = (line) => Math.max(MIN_COLUMNS, columns - indentOf(line))
  const lengthAt = (line) =>
    lines.formatted
      ? partsOfLine(tokens, lines, line).reduce((sum, part) => sum + lengthOf(part), 0)
      : (lines.first[line + 1] ?? text.length + 1) - 1 - lines.first[line]
  const shown = []
  /** The row after the last one of each line that is shown. */
  const ends = []
  for (let line = 0, rows = 0; line < lines.first.length; line++) {
    shown.push(line)
    rows += Math.max(1, Math.ceil(lengthAt(line) / widthOf(line)))
    ends.push(rows)
    if (folded.has(line)) line = lines.close[line] - 1
  }

  const rowAt = (row) => {
    const place = firstAbove(ends, row)
    const line = shown[place]
    const part = row - (place === 0 ? 0 : ends[place - 1])
    const width = widthOf(line)
    const parts = lines.formatted
      ? cut(text, partsOfLine(tokens, lines, line), part * width, (part + 1) * width)
      : delivered(
          text,
          tokens,
          lines.first[line] + part * width,
          Math.min(lines.first[line] + (part + 1) * width, lines.first[line] + lengthAt(line)),
        )
    const foldable = part === 0 && lines.close[line] !== undefined
    return { row, line, number: part === 0 ? line + 1 : undefined, indent: indentOf(line), parts, foldable }
  }

  /** The row that shows the character at an offset; its line must not be folded. */
  const rowOf = (offset) => {
    const line = lineOf(tokens, lines, offset)
    const place = firstAbove(shown, line) - 1
    let column = offset - (lines.formatted ? 0 : lines.first[line])
    if (lines.formatted) {
      column = 0
      for (const part of partsOfLine(tokens, lines, line)) {
        if (offset < part.end) {
          column += Math.max(0, offset - part.start)
          break
        }
        column += lengthOf(part)
      }
    }
    return (place === 0 ? 0 : ends[place - 1]) + Math.floor(column / widthOf(line))
  }
  return { rows: ends.at(-1) ?? 0, rowAt, rowOf }
}

/** The line that contains the character at an offset. */
export const lineOf = ({ ends }, { first, formatted }, offset) =>
  firstAbove(first, formatted ? firstAbove(ends, offset) : offset) - 1

const isSecondHalf = (text, at) => /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(at - 1, at + 1))
/** Never cuts a character in halves. */
const whole = (text, at) => (isSecondHalf(text, at) ? at + 1 : at)

function cut(text, parts, from, to) {
  const found = []
  let column = 0
  for (const part of parts) {
    const length = lengthOf(part)
    if (column + length > from && column < to) {
      const start = whole(text, part.start + Math.max(0, from - column))
      const end = whole(text, Math.min(part.end, part.start + to - column))
      found.push(part.kind === 'gap' ? part : { ...part, start, end })
    }
    column += length
  }
  return found
}

function delivered(text, { kinds, ends }, from, to) {
  const found = []
  const last = whole(text, to)
  for (let token = firstAbove(ends, from), start = whole(text, from); start < last; token++) {
    const end = Math.min(ends[token], last)
    found.push({ start, end, kind: kinds[token] })
    start = end
  }
  return found
}
