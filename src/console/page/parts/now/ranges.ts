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
import { RING_SECONDS } from '../../lib/ring.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** The ranges that have a name in the address. */
export const RANGES = ['live', 'day', 'month', 'year']

const iso = (at) => new Date(at).toISOString()

/** Reads `FROM..TO`. Returns undefined for anything else. */
export function readSpan(text = '') {
  const [from, to, ...more] = text.split('..').map(Date.parse)
  return more.length === 0 && from < to ? { from, to } : undefined
}

export const spanText = ({ from, to }) => `${iso(from)}..${iso(to)}`

/** What to ask the server for, and the length of a column: `hour`, `day` or `month`. */
function planOf(range, now) {
  if (range === 'day') return { each: 'hour', query: { by: 'hour' } }
  if (range === 'month') return { each: 'day', query: { by: 'day' } }
  if (range === 'year') {
    const today = new Date(now)
    const from = Date.UTC(today.getUTCFullYear(), today.getUTCMonth() - 11, 1)
    return { each: 'month', query: { by: 'day', from: iso(from) } }
  }
  const { from, to } = readSpan(range)
  const each = to - from <= 3 * DAY ? 'hour' : to - from <= 92 * DAY ? 'day' : 'month'
  return { each, query: { by: each === 'hour' ? 'hour' : 'day', from: iso(from), to: iso(to) } }
}

/** An unknown range is the live one. */
export function rangeOf(text, now) {
  if (text === undefined || text === 'live' || (!RANGES.includes(text) && !readSpan(text))) return { name: 'live' }
  return { name: text, ...planOf(text, now) }
}

const LIVE_STEP = 5

/** Columns of five seconds. The last one is still growing. */
export function liveColumns(ring) {
  const now = ring.now()
  const first = Math.ceil((now - RING_SECONDS + 1) / LIVE_STEP) * LIVE_STEP
  const columns = []
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
export function periodColumns({ Periods, To, CountedUntil }, each) {
  const columns = []
  for (const [index, period] of Periods.entries()) {
    const from = Date.parse(period.From)
    const to = Date.parse(Periods[index + 1]?.From ?? To)
    const former = columns.at(-1)
    const joins = each === 'month' && former && new Date(from).getUTCDate() !== 1
    const column = joins ? former : empty(from, to)
    if (!joins) columns.push(column)
    column.to = to
    column.known &&= from < Date.parse(CountedUntil)
    const { Deliveries, Echoes, Refusals, RefusedLogins } = period
    addTo(column, Object.values(Deliveries.ByStatus), Echoes, Refusals.ByCode, RefusedLogins.ByCode)
  }
  return columns
}

const empty = (from, to) => ({
  from,
  to,
  seconds: 1,
  known: true,
  byStatus: [0, 0, 0, 0],
  duplicates: 0,
  refusals: {},
  logins: {},
})

function addTo(sums, byStatus, duplicates, refusals, logins = {}) {
  for (const [status, count] of byStatus.entries()) sums.byStatus[status] += count
  sums.duplicates += duplicates
  addCodes(sums.refusals, refusals)
  addCodes(sums.logins, logins)
}

function addCodes(sums, counts) {
  for (const [code, count] of Object.entries(counts)) sums[code] = (sums[code] ?? 0) + count
}

export function totalsOf(columns) {
  const totals = empty(columns[0]?.from, columns.at(-1)?.to)
  for (const { byStatus, duplicates, refusals, logins } of columns)
    addTo(totals, byStatus, duplicates, refusals, logins)
  return totals
}

export const totalOf = ({ byStatus }) => byStatus.reduce((sum, count) => sum + count, 0)

/** How the columns of each length are spoken of. `every` says which columns have a label below them. */
export const COLUMN_WORDS = {
  live: {
    every: ({ from }) => from % 180_000 === 0,
    label: hourAndMinute,
    time: ({ from, to }) => `${clockTime(from)} – ${clockTime(to)}`,
    value: (count, { seconds }) => decimal(count / seconds),
    tick: decimal,
  },
  hour: {
    every: (_, index, count) => index % Math.ceil(count / 6) === 0,
    label: hourAndMinute,
    time: ({ from, to }) => `${dateTime(from)} – ${hourAndMinute(to)}`,
    value: whole,
    tick: decimal,
  },
  day: {
    every: (_, index, count) => index % Math.ceil(count / 6) === 0,
    label: utcDay,
    time: ({ from }) => utcDay(from),
    value: whole,
    tick: decimal,
  },
  month: {
    every: (_, index, count) => index % Math.ceil(count / 6) === 0,
    label: utcShortMonth,
    time: ({ from }) => utcMonth(from),
    value: whole,
    tick: decimal,
  },
}
