import { counted, printable } from '#src/lib/printable.ts'
import { type PeriodSums, type Stats, type Sums, sum } from '#src/purchase/stats/stats.rule.ts'
import { sharedZone, type Times, withoutZone } from './times.ts'
import { wrapWords } from './wrap-words.ts'

const GAP = '  '
const MAX_BAR = 40
const NARROWEST_BAR = 4
/** As many empty periods in a row become one line. */
const MIN_EMPTY = 3
/** Where there is no terminal. */
const COLUMNS = 80

const LEGEND = 'Columns 0 to 3 are deliveries by Status.'
const HEADING = ['deliveries', '0', '1', '2', '3', 'echoes', 'refused']

/** Draws one line for each period: bars on a terminal of `columns`, numbers only elsewhere. Uses no colours. */
export function chart(
  stats: Stats,
  customer: string | undefined,
  now: number,
  times: Times,
  columns: number | undefined,
): string {
  const { from, to, by, periods, totals, countedUntil } = stats
  const minute = (milliseconds: number): string => times.text(milliseconds).replace(/:\d\d /, ' ')
  const zone = sharedZone([...periods.map((period) => minute(period.from)), minute(to)], times.zone)
  const shown = (milliseconds: number): string =>
    zone === undefined ? minute(milliseconds) : withoutZone(minute(milliseconds))
  const length = by === 'hour' ? shown(from).length : 10
  const title = `${shown(from)} to ${shown(to)}${zone === undefined ? '' : ` ${zone}`}, by ${by}${customer === undefined ? '' : `, of ${printable(customer)}`}`
  const lines = grouped(periods)
  const rows = lines.map((line) => (Array.isArray(line) ? [] : cellsOf(line)))
  const total = cellsOf(totals)
  const widths = HEADING.map((name, column) =>
    Math.max(...[HEADING, total, ...rows].map((cells) => cells[column]?.length ?? 0), name.length),
  )
  const most = Math.max(...periods.map(({ byStatus }) => sum(byStatus)))
  const room = (columns ?? 0) - sum(widths) - widths.length * GAP.length - length - GAP.length
  const barWidth = Math.min(MAX_BAR, room)
  const hasBars = barWidth >= NARROWEST_BAR && most > 0
  const print = (name: string, cells: readonly string[], bar = ''): string => {
    const [first = '', ...others] = cells.map((cell, column) => cell.padStart(widths[column] ?? 0))
    const drawn = hasBars ? [bar.padEnd(barWidth)] : []
    return [name.padEnd(length), first, ...drawn, ...others].join(GAP)
  }
  const body = lines.map((line, index) => {
    const first = Array.isArray(line) ? (line[0] as PeriodSums) : line
    const name = shown(first.from).slice(0, length)
    if (Array.isArray(line)) return `${name}  nothing in ${counted(line.length, by)}`
    return print(name, rows[index] ?? [], barOf(sum(line.byStatus) / most, barWidth))
  })
  const notes = [
    ...reasons('Refused deliveries', totals.refusals),
    ...reasons('Refused logins', totals.refusedLogins),
    ...(countedUntil < now
      ? [
          `Only deliveries received before ${times.text(countedUntil)} are counted: the server is still counting older ones.`,
        ]
      : []),
  ].flatMap((note) => wrapWords(note, columns ?? COLUMNS))
  return [
    title,
    LEGEND,
    '',
    print(by, HEADING),
    ...body,
    print('total', total),
    ...(notes.length > 0 ? ['', ...notes] : []),
  ].join('\n')
}

const cellsOf = ({ byStatus, echoes, refusals, refusedLogins }: Sums): string[] =>
  [sum(byStatus), ...byStatus, echoes, refused(refusals) + refused(refusedLogins)].map((count) =>
    count.toLocaleString('en'),
  )

const refused = (codes: Record<string, number>): number => sum(Object.values(codes))

const isEmpty = ({ byStatus, refusals, refusedLogins }: Sums): boolean =>
  sum(byStatus) + refused(refusals) + refused(refusedLogins) === 0

/** Joins empty periods where several follow each other. */
function grouped(periods: readonly PeriodSums[]): (PeriodSums | PeriodSums[])[] {
  const lines: (PeriodSums | PeriodSums[])[] = []
  let empty: PeriodSums[] = []
  const flush = (): void => {
    if (empty.length >= MIN_EMPTY) lines.push(empty)
    else lines.push(...empty)
    empty = []
  }
  for (const period of periods) {
    if (isEmpty(period)) empty.push(period)
    else {
      flush()
      lines.push(period)
    }
  }
  flush()
  return lines
}

const EIGHTHS = ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉']

/** A bar of block characters, exact to an eighth of a character. What is not zero shows. */
function barOf(part: number, width: number): string {
  const eighths = part > 0 ? Math.max(1, Math.round(part * width * 8)) : 0
  return '█'.repeat(Math.floor(eighths / 8)) + EIGHTHS[eighths % 8]
}

const reasons = (what: string, codes: Record<string, number>): string[] => {
  const named = Object.entries(codes).sort(([, one], [, other]) => other - one)
  if (named.length === 0) return []
  return [`${what}: ${named.map(([code, count]) => `${code} ${count.toLocaleString('en')}`).join(', ')}`]
}
