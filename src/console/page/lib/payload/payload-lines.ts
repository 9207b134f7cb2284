import { firstAbove, type Tokens } from './json-tokens.ts'

const INDENT = 2
const MIN_COLUMNS = 16

/**
 * Lines of a text. Line i begins with token `first[i]` (formatted) or at the offset `first[i]` (as it was delivered), and
 * `close[i]` is the line that ends what it opens, if any.
 */
export interface Lines {
  readonly first: readonly number[]
  readonly depth: readonly number[]
  readonly close: readonly (number | undefined)[]
  readonly formatted: boolean
}

/** Part of a line. A `gap` follows a colon, and is not in the text. */
export interface Part {
  readonly start: number
  readonly end: number
  readonly kind: Tokens['kinds'][number] | 'gap' | undefined
}

export function formattedLines(text: string, { kinds, ends }: Tokens): Lines {
  const first = [0]
  const depth = [0]
  const close: number[] = []
  const opened: number[] = []
  let level = 0
  let filled = false
  const signAt = (token: number): string => (kinds[token] === 'sign' ? text.charAt(startOf(ends, token)) : '')
  const begin = (token: number): void => {
    if (filled) {
      first.push(token)
      depth.push(level)
    } else depth[depth.length - 1] = level
    filled = false
  }
  for (let token = nextSolid(kinds, 0); token < kinds.length; ) {
    const next = nextSolid(kinds, token + 1)
    const sign = signAt(token)
    if (sign === '{' || sign === '[') {
      filled = true
      const pair = sign + signAt(next)
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

function nextSolid(kinds: Tokens['kinds'], from: number): number {
  let token = from
  while (kinds[token] === 'space') token++
  return token
}

export function deliveredLines(text: string): Lines {
  const first = [0]
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) first.push(at + 1)
  return { first, depth: [], close: [], formatted: false }
}

const startOf = (ends: Tokens['ends'], token: number): number => ends[token - 1] ?? 0

function partsOfLine({ kinds, ends }: Tokens, { first }: Lines, line: number): Part[] {
  const parts: Part[] = []
  const last = first[line + 1] ?? kinds.length
  for (let token = first[line] ?? last; token < last; token++) {
    if (kinds[token] === 'space') continue
    const end = startOf(ends, token + 1)
    parts.push({ start: startOf(ends, token), end, kind: kinds[token] })
    if (parts.at(-2)?.kind === 'key') parts.push({ start: end, end, kind: 'gap' })
  }
  return parts
}

/** The lines of the formatted text, as text. */
export function formattedTexts(text: string, tokens: Tokens, lines: Lines): string[] {
  return lines.first.map((_, line) => {
    const parts = partsOfLine(tokens, lines, line)
    const words = parts.map(({ start, end, kind }) => (kind === 'gap' ? ' ' : text.slice(start, end)))
    return ' '.repeat(INDENT * (lines.depth[line] ?? 0)) + words.join('')
  })
}

const lengthOf = ({ start, end, kind }: Part): number => (kind === 'gap' ? 1 : end - start)

/** Cuts lines into rows of `columns` characters, without those that are folded. */
interface Layout {
  readonly text: string
  readonly tokens: Tokens
  readonly lines: Lines
  readonly folded: ReadonlySet<number>
  readonly columns: number
}

export function layOut({ text, tokens, lines, folded, columns }: Layout) {
  const beginOf = (line: number): number => lines.first[line] ?? text.length + 1
  const indentOf = (line: number): number => Math.min(INDENT * (lines.depth[line] ?? 0), columns >> 1)
  const widthOf = (line: number): number => Math.max(MIN_COLUMNS, columns - indentOf(line))
  const lengthAt = (line: number): number =>
    lines.formatted
      ? partsOfLine(tokens, lines, line).reduce((sum, part) => sum + lengthOf(part), 0)
      : beginOf(line + 1) - 1 - beginOf(line)
  const shown: number[] = []
  /** The row after the last one of each line that is shown. */
  const ends: number[] = []
  /** The first row of the line that is shown at a place. */
  const rowAbove = (place: number): number => ends[place - 1] ?? 0
  for (let line = 0, rows = 0; line < lines.first.length; line++) {
    shown.push(line)
    rows += Math.max(1, Math.ceil(lengthAt(line) / widthOf(line)))
    ends.push(rows)
    if (folded.has(line)) line = (lines.close[line] ?? line + 1) - 1
  }

  const rowAt = (row: number) => {
    const place = firstAbove(ends, row)
    const line = shown[place] ?? 0
    const part = row - rowAbove(place)
    const width = widthOf(line)
    const parts = lines.formatted
      ? cut(text, partsOfLine(tokens, lines, line), part * width, (part + 1) * width)
      : delivered(
          text,
          tokens,
          beginOf(line) + part * width,
          beginOf(line) + Math.min((part + 1) * width, lengthAt(line)),
        )
    const foldable = part === 0 && lines.close[line] !== undefined
    return { row, line, number: part === 0 ? line + 1 : undefined, indent: indentOf(line), parts, foldable }
  }

  /** The row that shows the character at an offset; its line must not be folded. */
  const rowOf = (offset: number): number => {
    const line = lineOf(tokens, lines, offset)
    const place = firstAbove(shown, line) - 1
    let column = offset - (lines.formatted ? 0 : beginOf(line))
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
    return rowAbove(place) + Math.floor(column / widthOf(line))
  }
  return { rows: ends.at(-1) ?? 0, rowAt, rowOf }
}

/** The line that contains the character at an offset. */
export const lineOf = ({ ends }: Tokens, { first, formatted }: Lines, offset: number): number =>
  firstAbove(first, formatted ? firstAbove(ends, offset) : offset) - 1

const isSecondHalf = (text: string, at: number): boolean =>
  /^[\ud800-\udbff][\udc00-\udfff]$/.test(text.slice(at - 1, at + 1))
/** Never cuts a character in halves. */
const whole = (text: string, at: number): number => (isSecondHalf(text, at) ? at + 1 : at)

function cut(text: string, parts: readonly Part[], from: number, to: number): Part[] {
  const found: Part[] = []
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

function delivered(text: string, { kinds, ends }: Tokens, from: number, to: number): Part[] {
  const found: Part[] = []
  const last = whole(text, to)
  for (let token = firstAbove(ends, from), start = whole(text, from); start < last; token++) {
    const end = Math.min(ends[token] ?? last, last)
    found.push({ start, end, kind: kinds[token] })
    start = end
  }
  return found
}
