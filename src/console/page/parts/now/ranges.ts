import type { StatsAnswer } from '#src/purchase/stats/stats.schema.ts'
import {
  clockTime,
  dateTime,
  decimal,
  hourAndMinute,
  utcDay,
  utcMonth,
  utcShortMonth,
  whole,
} from '../../lib/format.ts'
import { RING_SECONDS, type Ring } from '../../lib/ring.ts'
import { HOUR } from './sums.ts'

const DAY = 24 * HOUR

/** The ranges that have a name in the address. */
export const RANGES = ['live', 'day', 'month', 'year'] as const
type RangeName = (typeof RANGES)[number]

/** In milliseconds since 1970. */
export interface Span {
  readonly from: number
  readonly to: number
}

/** Counts by code. */
type Codes = Record<string, number>

export interface Column {
  readonly from: number
  to: number
  /** What its counts are divided by to be shown. */
  seconds: number
  /** Whether all of it has been counted. */
  known: boolean
  readonly byStatus: number[]
  duplicates: number
  readonly refusals: Codes
  readonly logins: Codes
}

/** The length of a column. Those of `live` have five seconds. */
export type Each = 'live' | 'hour' | 'day' | 'month'

interface Plan {
  readonly each: Exclude<Each, 'live'>
  readonly query: { readonly by: 'hour' | 'day'; readonly from?: string; readonly to?: string }
}

/** A range by its name in the address, and for one that is not live what to ask the server for. */
export type Range = { readonly name: 'live' } | ({ readonly name: string } & Plan)

export const iso = (at: number): string => new Date(at).toISOString()

/** Reads `FROM..TO`. Returns undefined for anything else. */
export function readSpan(text = ''): Span | undefined {
  const [from = Number.NaN, to = Number.NaN, ...more] = text.split('..').map(Date.parse)
  return more.length === 0 && from < to ? { from, to } : undefined
}

export const spanText = ({ from, to }: Span): string => `${iso(from)}..${iso(to)}`

export const isNamed = (text: string): text is RangeName => (RANGES as readonly string[]).includes(text)

function planOf(range: string, now: number): Plan | undefined {
  if (range === 'day') return { each: 'hour', query: { by: 'hour' } }
  if (range === 'month') return { each: 'day', query: { by: 'day' } }
  if (range === 'year') {
    const today = new Date(now)
    const from = Date.UTC(today.getUTCFullYear(), today.getUTCMonth() - 11, 1)
    return { each: 'month', query: { by: 'day', from: iso(from) } }
  }
  const span = readSpan(range)
  if (span === undefined) return undefined
  const { from, to } = span
  const each = to - from <= 3 * DAY ? 'hour' : to - from <= 92 * DAY ? 'day' : 'month'
  return { each, query: { by: each === 'hour' ? 'hour' : 'day', from: iso(from), to: iso(to) } }
}

/** An unknown range is the live one. */
export function rangeOf(text: string | undefined, now: number): Range {
  const plan = text === undefined ? undefined : planOf(text, now)
  return text === undefined || plan === undefined ? { name: 'live' } : { name: text, ...plan }
}

const LIVE_STEP = 5

/** Columns of five seconds. The last one is still growing. Empty before the first frame. */
export function liveColumns(ring: Ring): Column[] {
  const now = ring.now() ?? 0
  const first = Math.ceil((now - RING_SECONDS + 1) / LIVE_STEP) * LIVE_STEP
  const columns: Column[] = []
  for (let from = first; from <= now; from += LIVE_STEP) {
    const column = empty(from * 1000, (from + LIVE_STEP) * 1000)
    column.seconds = Math.min(LIVE_STEP, now - from + 1)
    for (let second = from; second < from + column.seconds; second++) {
      const { known, byStatus, duplicates, refusals } = ring.read(second)
      column.known &&= known
      addTo(column, byStatus, duplicates, refusals)
    }
    columns.push(column)
  }
  return columns
}

/** One column for each period of an answer of /Purchase/stats, or for all days of a month. */
export function periodColumns({ Periods, To, CountedUntil }: StatsAnswer, each: Each): Column[] {
  const columns: Column[] = []
  for (const [index, period] of Periods.entries()) {
    const from = Date.parse(period.From)
    const to = Date.parse(Periods[index + 1]?.From ?? To)
    const former = columns.at(-1)
    const joins = each === 'month' && new Date(from).getUTCDate() !== 1
    const column = (joins ? former : undefined) ?? empty(from, to)
    if (column !== former) columns.push(column)
    column.to = to
    column.known &&= from < Date.parse(CountedUntil)
    const { Deliveries, Echoes, Refusals, RefusedLogins } = period
    addTo(column, Object.values(Deliveries.ByStatus), Echoes, Refusals.ByCode, RefusedLogins.ByCode)
  }
  return columns
}

const empty = (from: number, to: number): Column => ({
  from,
  to,
  seconds: 1,
  known: true,
  byStatus: [0, 0, 0, 0],
  duplicates: 0,
  refusals: {},
  logins: {},
})

function addTo(sums: Column, byStatus: readonly number[], duplicates: number, refusals: Codes, logins: Codes = {}) {
  for (const [status, count] of byStatus.entries()) sums.byStatus[status] = (sums.byStatus[status] ?? 0) + count
  sums.duplicates += duplicates
  addCodes(sums.refusals, refusals)
  addCodes(sums.logins, logins)
}

function addCodes(sums: Codes, counts: Codes): void {
  for (const [code, count] of Object.entries(counts)) sums[code] = (sums[code] ?? 0) + count
}

export function totalsOf(columns: readonly Column[]): Column {
  const totals = empty(columns[0]?.from ?? 0, columns.at(-1)?.to ?? 0)
  for (const { byStatus, duplicates, refusals, logins } of columns)
    addTo(totals, byStatus, duplicates, refusals, logins)
  return totals
}

export interface ColumnWords {
  /** Which columns have a label below them. */
  every(column: Column, index: number, count: number): boolean
  label(from: number): string
  time(span: Span): string
  value(count: number, column: Pick<Column, 'seconds'>): string
}

const everySixth = (_: Column, index: number, count: number): boolean => index % Math.ceil(count / 6) === 0
const counted = { every: everySixth, value: whole }

/** How the columns of each length are spoken of. */
export const COLUMN_WORDS: Readonly<Record<Each, ColumnWords>> = {
  live: {
    every: ({ from }) => from % 180_000 === 0,
    label: hourAndMinute,
    time: ({ from, to }) => `${clockTime(from)} – ${clockTime(to)}`,
    value: (count, { seconds }) => decimal(count / seconds),
  },
  hour: {
    ...counted,
    label: hourAndMinute,
    time: ({ from, to }) => `${dateTime(from)} – ${hourAndMinute(to)}`,
  },
  day: { ...counted, label: utcDay, time: ({ from }) => utcDay(from) },
  month: { ...counted, label: utcShortMonth, time: ({ from }) => utcMonth(from) },
}
