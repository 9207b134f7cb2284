import { useMemo, useState } from 'preact/hooks'
import type { StatsAnswer } from '#src/purchase/stats/stats.schema.ts'
import { get } from '../lib/api.ts'
import { STATUSES, statusText } from '../lib/foreign.tsx'
import { clockTime, dateTime, zoneName } from '../lib/format.ts'
import { frame, ring, state } from '../lib/live.ts'
import { href, setParameters } from '../lib/route.ts'
import { t } from '../lib/texts.ts'
import { useQuery } from '../lib/use-query.ts'
import { FirstDelivery } from '../parts/delivery/curl.tsx'
import { AllWell } from '../parts/now/all-well.tsx'
import { Chart } from '../parts/now/chart.tsx'
import { ChartTable } from '../parts/now/chart-table.tsx'
import {
  COLUMN_WORDS,
  type Column,
  type ColumnWords,
  type Each,
  isNamed,
  iso,
  liveColumns,
  periodColumns,
  RANGES,
  type Range,
  rangeOf,
  readSpan,
  type Span,
  spanText,
  totalsOf,
} from '../parts/now/ranges.ts'
import { totalOf } from '../parts/now/sums.ts'
import { type OpenSpan, Refused, ServerFacts, Totals } from '../parts/now/tiles.tsx'
import { Problem } from '../parts/problem.tsx'

const MINUTE = 60_000

/** The time by the server's clock, as far as it is known. */
const serverTime = () => (frame.value ? Date.parse(frame.value.At) : Date.now())

export function NowView({ parameters }: { readonly parameters: Readonly<Record<string, string>> }) {
  const now = serverTime()
  const minute = Math.floor(now / MINUTE)
  const range = useMemo(() => rangeOf(parameters.range, now), [parameters.range, minute])
  const isLive = range.name === 'live'
  const loaded = useQuery<{ range: string; stats: StatsAnswer } | undefined>(
    async (signal) =>
      'query' in range ? { range: range.name, stats: await get('/Purchase/stats', range.query, signal) } : undefined,
    [range.name, isLive || minute],
  )
  const stats = loaded.data?.range === range.name ? loaded.data.stats : undefined
  const columns = useMemo(() => {
    if ('each' in range) return stats && periodColumns(stats, range.each)
    return frame.value && liveColumns(ring)
  }, [isLive ? frame.value : stats])
  return (
    <div class="now">
      <div class="line heading">
        <h1>{t('word.now')}</h1>
        <RangeLinks range={range.name} />
      </div>
      <AllWell now={now} />
      {!isLive && loaded.error && <Problem error={loaded.error} again={loaded.reload} />}
      {!(loaded.error && !columns) && (
        <Figures range={range} columns={columns} stats={stats} select={parameters.select} />
      )}
      <ServerFacts />
    </div>
  )
}

function RangeLinks({ range }: { readonly range: string }) {
  const own = isNamed(range) ? undefined : readSpan(range)
  return (
    <nav class="line ranges" aria-label={t('word.range')}>
      {RANGES.map((name) => (
        <a key={name} href={href('now', [], { range: name })} {...(name === range && { 'aria-current': 'page' })}>
          {t(`range.${name}`)}
        </a>
      ))}
      {own && (
        <a href={href('now', [], { range })} aria-current="page">
          {spanWords(own)}
        </a>
      )}
    </nav>
  )
}

const spanWords = ({ from, to }: Span): string => `${dateTime(from)} – ${dateTime(to)}`

interface FiguresProperties {
  readonly range: Range
  /** Undefined until they are known. */
  readonly columns: readonly Column[] | undefined
  readonly stats: StatsAnswer | undefined
  readonly select: string | undefined
}

/** The chart, and the numbers of what is selected in it. */
function Figures({ range, columns, stats, select }: FiguresProperties) {
  const [pointed, setPointed] = useState<number>()
  const each = 'each' in range ? range.each : 'live'
  const live = each === 'live'
  const words = COLUMN_WORDS[each]
  const selected = readSpan(select)
  const onSelect = (span: Span | undefined) => setParameters({ select: span && spanText(span) }, { replace: true })
  const chosen =
    columns && selected ? columns.filter(({ from, to }) => to > selected.from && from < selected.to) : columns
  const totals = chosen && totalsOf(chosen)
  const span = selected ?? openSpan(columns, live)
  const read = columns?.find(({ from }) => from === pointed)
  const describe = (column: Column | undefined) => (column ? columnText(column, each, words) : t('now.chart.keys'))
  return (
    <>
      <section class="panel" aria-labelledby="chart-title">
        <div class="line heading">
          <h2 id="chart-title">{t(`now.chart.${each}`)}</h2>
          <p class="note read">
            {read ? `${words.time(read)} · ${words.value(totalOf(read), read)}` : zoneWords(each)}
          </p>
          <Legend column={read} words={words} />
        </div>
        {columns ? (
          <>
            <Chart
              columns={columns}
              words={words}
              name={t(`now.chart.${each}`)}
              describe={describe}
              selected={selected}
              pointed={pointed}
              onPoint={setPointed}
              onSelect={onSelect}
            />
            <ChartTable columns={columns} each={each} />
          </>
        ) : (
          <div class="chart skeleton"></div>
        )}
        <Remarks columns={columns} live={live} stats={stats} />
      </section>
      <section aria-labelledby="totals-title">
        <div class="line heading">
          <h2 id="totals-title">{t(selected ? 'now.selected' : 'now.totals')}</h2>
          <p class="note" role="status">
            {selected && (live ? words.time(selected) : spanWords(selected))}
          </p>
          {selected && <SelectionLinks selected={selected} live={live} columns={chosen} onSelect={onSelect} />}
        </div>
        <Totals totals={totals} span={span} refusedSince={live ? refusedSince(span) : undefined} />
        {live && !selected && totals && totalOf(totals) === 0 && (
          <div class="empty">
            <FirstDelivery text="now.empty" />
          </div>
        )}
      </section>
      <Refused totals={totals} span={span} live={live} />
    </>
  )
}

/** All columns. What comes in next belongs to the live ones, too. */
function openSpan(columns: readonly Column[] | undefined, live: boolean): OpenSpan {
  const [from, to] = [columns?.[0]?.from, columns?.at(-1)?.to]
  if (from === undefined || to === undefined) return undefined
  return live ? { from } : { from, to }
}

/** Since when refusals have been counted, if that is later than the rest. */
function refusedSince(span: OpenSpan): number | undefined {
  const at = (ring.refusedSince() ?? 0) * 1000
  return at > (span?.from ?? at) ? at : undefined
}

const zoneWords = (each: Each): string =>
  each === 'day' || each === 'month' ? t('now.utcDays') : t('now.zone', { zone: zoneName() })

const columnText = (column: Column, each: Each, words: ColumnWords): string => {
  const counts = STATUSES.map((status) => `${statusText(status)} ${words.value(column.byStatus[status] ?? 0, column)}`)
  const sum = t(each === 'live' ? 'now.column.live' : 'now.column.counted', {
    count: words.value(totalOf(column), column),
  })
  return column.known
    ? `${words.time(column)}: ${sum}. ${counts.join(', ')}`
    : `${words.time(column)}: ${t('now.notCounted')}`
}

const Legend = ({ column, words }: { readonly column: Column | undefined; readonly words: ColumnWords }) => (
  <ul class="line statuses">
    {STATUSES.map((status) => (
      <li key={status}>
        <span class={`swatch status-${status}`}></span>
        {statusText(status)}
        <span class="value">{column && words.value(column.byStatus[status] ?? 0, column)}</span>
      </li>
    ))}
  </ul>
)

interface SelectionProperties {
  readonly selected: Span
  readonly live: boolean
  readonly columns: readonly Column[] | undefined
  onSelect(span: undefined): void
}

const SelectionLinks = ({ selected, live, columns = [], onSelect }: SelectionProperties) => (
  <p class="line actions">
    <a href={href('deliveries', [], { from: iso(selected.from), to: iso(selected.to) })}>{t('now.show')}</a>
    {!live && columns.length > 1 && <a href={href('now', [], { range: spanText(selected) })}>{t('now.zoom')}</a>}
    <button onClick={() => onSelect(undefined)}>{t('now.clear')}</button>
  </p>
)

/** What the chart does not show. */
function Remarks({ columns, live, stats }: Pick<FiguresProperties, 'columns' | 'stats'> & { readonly live: boolean }) {
  const counted = stats && Date.parse(stats.CountedUntil)
  const isLate = stats && counted && counted < Math.min(Date.parse(stats.To), serverTime() - MINUTE)
  const stopped = live && state.value !== 'live' ? frame.value : undefined
  const remarks = [
    live && !frame.value && state.value === 'paused' && t('now.paused'),
    live && !frame.value && state.value === 'lost' && t('now.lost'),
    stopped && t('now.stopped', { time: clockTime(stopped.At) }),
    live && frame.value && !frame.value.StoreUp && t('now.storeDown'),
    live && columns?.some(({ known }) => !known) && t('now.gap'),
    isLate && t('now.late', { time: dateTime(counted) }),
  ]
  return remarks.map(
    (text, index) =>
      text && (
        <p key={index} class="note remark">
          {text}
        </p>
      ),
  )
}
