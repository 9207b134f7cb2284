/** Text in columns under a heading, for people. */
export const table = (heading: readonly string[], rows: readonly (readonly string[])[]): string =>
  tableWithin(Number.POSITIVE_INFINITY, heading, rows)

const GAP = '  '
const NARROWEST = 8

/** The same in lines of so many characters: the widest columns give way. */
export function tableWithin(columns: number, heading: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = heading.map((name, column) =>
    rows.reduce((width, row) => Math.max(width, row[column]?.length ?? 0), name.length),
  )
  const room = columns - GAP.length * (heading.length - 1)
  for (let widest = Math.max(...widths); sum(widths) > room && widest > NARROWEST; widest = Math.max(...widths)) {
    widths[widths.lastIndexOf(widest)] = widest - 1
  }
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cut(cell, widths[column] ?? 0))
      .join(GAP)
      .trimEnd()
  return [heading, ...rows].map(line).join('\n')
}

const sum = (numbers: readonly number[]): number => numbers.reduce((all, one) => all + one, 0)

const cut = (text: string, width: number): string =>
  text.length > width ? `${text.slice(0, width - 1)}…` : text.padEnd(width)
