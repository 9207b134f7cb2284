import { useMemo, useState } from 'preact/hooks'
import { get, useLoad } from '../lib/api.ts'
import { clockTime, dateTime, zoneName } from '../lib/format.ts'
import { frame, ring, state } from '../lib/live.ts'
import { href, setParameters } from '../lib/route.ts'
import { t } from '../lib/texts.ts'
import { FirstDelivery } from '../parts/delivery/curl.tsx'
import { Chart } from '../parts/now/chart.tsx'
import { ChartTable } from '../parts/now/chart-table.tsx'
import {
  COLUMN_WORDS,
  liveColumns,
  periodColumns,
  RANGES,
  rangeOf,
  readSpan,
  spanText,
  totalOf,
  totalsOf,
} from '../parts/now/ranges.ts'
import { Refused, ServerFacts, Totals } from '../parts/now/tiles.tsx'
import { Problem } from '../parts/problem.tsx'

const MINUTE = 60_000

/** The time by the server's clock, as far as it is known. */
const serverTime = () => (frame.value ? Date.parse(frame.value.At) : Date.now())

export function NowView({ parameters }) {
  const now = serverTime()
  const minute = Math.floor(now / MINUTE)
  const range = useMemo(() => rangeOf(parameters.range, now), [parameters.range, minute])
  const live = range.name === 'live'
  const loaded = useLoad(
    async (signal) => live || { range: range.name, stats: await get('/Purchase/stats', range.query, { signal }) },
    [range.name, live || minute],
  )
  const stats = loaded.data?.range === range.name ? loaded.data.stats : undefined
  const columns = useMemo(() => {
    if (!live) return stats && periodColumns(stats, range.each)
    return frame.value && liveColumns(ring)
  }, [live ? frame.value : stats])
  return (
    <div class="now">
      <div class="heading">
        <h1>{t('word.now')}</h1>
        <RangeLinks range={range.name} />
      </div>
      {!live && loaded.error && <Problem error={loaded.error} again={loaded.reload} />}
      {!(loaded.error && !columns) && (
        <Figures range={range} columns={columns} stats={stats} select={parameters.select} />
      )}
      <ServerFacts />
    </div>
  )
}

function RangeLinks({ range }) {
  const own = RANGES.includes(range) ? undefined : readSpan(range)
  return (
    <nav class="ranges" aria-label={t('word.range')}>
      {RANGES.map((name) => (
        <a href={href('now', [], { range: name })} aria-current={name === range ? 'page' : undefined}>
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

const spanWords = ({ from, to }) => `${dateTime(from)} – ${dateTime(to)}`

/** The chart, and the numbers of what is selected in it. */
function Figures({ range, columns, stats, select }) {
  const [pointed, setPointed] = useState()
  const live = range.name === 'live'
  const each = range.each ?? 'live'
  const words = COLUMN_WORDS[each]
  const selected = readSpan(select)
  const onSelect = (span) => setParameters({ select: span && spanText(span) }, { replace: true })
  const chosen =
    columns && selected ? columns.filter(({ from, to }) => to > selected.from && from < selected.to) : columns
  const totals = columns && totalsOf(chosen)
  const span = selected ?? (columns && { from: columns[0].from, to: live ? undefined : columns.at(-1).to })
  const read = columns?.find(({ from }) => from === pointed)
  const describe = (column) => (column ? columnText(column, each, words) : t('now.chart.keys'))
  return (
    <>
      <section class="panel" aria-labelledby="chart-title">
        <div class="heading">
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
        <div class="heading">
          <h2 id="totals-title">{selected ? t('now.selected') : t('now.totals')}</h2>
          <p class="note" role="status">
            {selected && (live ? words.time(selected) : spanWords(selected))}
          </p>
          {selected && <SelectionLinks selected={selected} live={live} columns={chosen} onSelect={onSelect} />}
        </div>
        <Totals totals={totals} span={span} refusedSince={live ? refusedSince(span) : undefined} />
        {live && !selected && totals && totalOf(totals) === 0 && (
          <div class="empty">
            <FirstDelivery text={t('now.empty')} />
          </div>
        )}
      </section>
      <Refused totals={totals} span={span} live={live} />
    </>
  )
}

/** Since when refusals have been counted, if that is later than the rest. */
function refusedSince(span) {
  const at = ring.refusedSince() * 1000
  return at > (span?.from ?? at) ? at : undefined
}

const zoneWords = (each) =>
  each === 'day' || each === 'month' ? t('now.utcDays') : t('now.zone', { zone: zoneName() })

const columnText = (column, each, words) => {
  const counts = column.byStatus.map((count, status) => `${t(`status.${status}`)} ${words.value(count, column)}`)
  const sum = t(each === 'live' ? 'now.column.live' : 'now.column.counted', {
    count: words.value(totalOf(column), column),
  })
  return column.known
    ? `${words.time(column)}: ${sum}. ${counts.join(', ')}`
    : `${words.time(column)}: ${t('now.notCounted')}`
}

const Legend = ({ column, words }) => (
  <ul class="statuses">
    {[0, 1, 2, 3].map((status) => (
      <li>
        <span class={`swatch status-${status}`}></span>
        {t(`status.${status}`)}
        <span class="value">{column && words.value(column.byStatus[status], column)}</span>
      </li>
    ))}
  </ul>
)

const SelectionLinks = ({ selected, live, columns, onSelect }) => (
  <p class="actions">
    <a
      href={href('deliveries', [], {
        from: new Date(selected.from).toISOString(),
        to: new Date(selected.to).toISOString(),
      })}
    >
      {t('now.show')}
    </a>
    {!live && columns?.length > 1 && <a href={href('now', [], { range: spanText(selected) })}>{t('now.zoom')}</a>}
    <button onClick={() => onSelect(undefined)}>{t('now.clear')}</button>
  </p>
)

/** What the chart does not show. */
function Remarks({ columns, live, stats }) {
  const counted = stats && Date.parse(stats.CountedUntil)
  const late = counted && counted < Math.min(Date.parse(stats.To), serverTime() - MINUTE)
  const stopped = live && frame.value && state.value !== 'live'
  const remarks = [
    live && !frame.value && state.value === 'paused' && t('now.paused'),
    live && !frame.value && state.value === 'lost' && t('now.lost'),
    stopped && t('now.stopped', { time: clockTime(frame.value.At) }),
    live && frame.value && !frame.value.StoreUp && t('now.storeDown'),
    live && columns?.some(({ known }) => !known) && t('now.gap'),
    late && t('now.late', { time: dateTime(counted) }),
  ].filter(Boolean)
  return remarks.map((text) => <p class="note remark">{text}</p>)
}
