import { escaped, oneLine } from '#src/lib/printable.ts'
import { withZonesAbove } from './times.ts'
import { wrapWords } from './wrap-words.ts'

const GAP = '  '
const INDENT = '  '
/** The least room in which the last column is wrapped beside the others. */
const MIN_ROOM = 40
/** The least room for the meanings of a definition list. */
const MIN_MEANING = 24

/**
 * Text in columns under a heading, in lines of `width` characters. Where the columns do not fit into one line, they go on in
 * the next, indented, if there is text for it; the last column wraps at words. Nothing is cut off, so that ids, times and e-mail
 * addresses can be pasted. Each cell is one line, whatever others wrote.
 */
export function table(
  names: readonly string[],
  cells: readonly (readonly string[])[],
  width = Number.POSITIVE_INFINITY,
): string {
  const shown = cells.map((row) => row.map((cell) => escaped(oneLine(cell))))
  const { heading, rows } = withZonesAbove(names, shown)
  const widths = heading.map((name, column) =>
    rows.reduce((most, row) => Math.max(most, row[column]?.length ?? 0), name.length),
  )
  const lines = divide(widths.slice(0, -1), width)
  const room = width - lineWidth(lines.at(-1) ?? [], widths, lines.length > 1) - GAP.length
  const last = rows.map((row) => row.at(-1) ?? '').filter((text) => text !== '')
  const beside = fits(heading.at(-1) ?? '', room) && (last.length === 0 || last.some((text) => fits(text, room)))
  const print = (row: readonly string[], place: 'beside' | 'below'): string => {
    const all = lines.map((columns, index) => {
      const cells = columns.map((column) => (row[column] ?? '').padEnd(widths[column] ?? 0))
      return (index > 0 ? INDENT : '') + cells.join(GAP)
    })
    const text = row.at(-1) ?? ''
    if (place === 'beside') {
      const before = all.pop() ?? ''
      const [first = '', ...more] = wrapWords(text, room)
      all.push(before + GAP + first, ...more.map((line) => ' '.repeat(before.length) + GAP + line))
    } else if (text !== '') all.push(...wrapWords(text, width - INDENT.length).map((line) => INDENT + line))
    return all
      .map((line) => line.trimEnd())
      .filter((line, index) => index === 0 || line !== '')
      .join('\n')
  }
  return [
    print(heading, beside ? 'beside' : 'below'),
    ...rows.map((row) => print(row, beside && fits(row.at(-1) ?? '', room) ? 'beside' : 'below')),
  ].join('\n')
}

const NAME_WIDTH = 12

/** A title, and below it what belongs to it by name. What is undefined is left out; what has several lines stays indented. */
export function fields(title: string, values: Readonly<Record<string, string | undefined>>): string {
  const lines = Object.entries(values).flatMap(([name, text]) =>
    text === undefined
      ? []
      : text.split(/\r?\n/).map((line, index) => `  ${(index === 0 ? name : '').padEnd(NAME_WIDTH)}${line}`.trimEnd()),
  )
  return [title, ...lines].join('\n')
}

/** A definition list: a name and what it means, which wraps at words. */
export function definitions(rows: readonly (readonly [string, string])[], width: number): string {
  const left = Math.max(...rows.map(([name]) => name.length))
  return rows
    .flatMap(([name, text]) =>
      wrapWords(text, Math.max(MIN_MEANING, width - left - 2 * GAP.length)).map(
        (line, index) => INDENT + (index === 0 ? name : '').padEnd(left) + GAP + line,
      ),
    )
    .join('\n')
}

/** Puts as many columns into each line as fit. */
function divide(widths: readonly number[], width: number): number[][] {
  const lines: number[][] = [[]]
  for (const column of widths.keys()) {
    const line = lines.at(-1) as number[]
    if (line.length > 0 && lineWidth([...line, column], widths, lines.length > 1) > width) lines.push([column])
    else line.push(column)
  }
  return lines
}

const lineWidth = (columns: readonly number[], widths: readonly number[], indented: boolean): number =>
  columns.reduce((sum, column) => sum + (widths[column] ?? 0) + GAP.length, indented ? INDENT.length : 0) - GAP.length

/** Whether a text can stand beside the other columns, whole or wrapped at words. */
const fits = (text: string, room: number): boolean =>
  text.length <= room ||
  (room >= MIN_ROOM && text.includes(' ') && text.split(' ').every((word) => word.length <= room))
