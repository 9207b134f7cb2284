import type { TargetedPointerEvent } from 'preact'
import { useMemo, useRef, useState } from 'preact/hooks'
import { STATUSES } from '../../lib/foreign.tsx'
import { decimal } from '../../lib/format.ts'
import { t } from '../../lib/texts.ts'
import type { Column, ColumnWords, Span } from './ranges.ts'
import { topOf } from './scale.ts'

const BAR = 0.8
/** How far a page key goes. */
const PAGE = 12
/** The part of the width in which a label of a time may begin: further right it would be cut off. */
const LAST_LABEL = 0.88

const heightOf = ({ byStatus, seconds }: Column, status: number): number => (byStatus[status] ?? 0) / seconds
const heightsOf = (column: Column): number =>
  STATUSES.reduce<number>((sum, status) => sum + heightOf(column, status), 0)

/** One path for each Status, so that a new second changes four attributes. */
function paths(columns: readonly Column[], top: number): string[] {
  const drawn = STATUSES.map(() => '')
  for (const [index, column] of columns.entries()) {
    let y = 100
    // One that is cut keeps its proportions.
    const full = Math.max(top, heightsOf(column))
    for (const status of STATUSES) {
      const height = (heightOf(column, status) / full) * 100
      if (height === 0) continue
      y -= height
      drawn[status] += `M${(index + (1 - BAR) / 2).toFixed(1)} ${y.toFixed(2)}h${BAR}v${height.toFixed(2)}h-${BAR}z`
    }
  }
  return drawn
}

/** Stretches of columns that nobody has counted. */
function gaps(columns: readonly Column[]) {
  const found: { start: number; end: number }[] = []
  for (const [index, { known }] of columns.entries()) {
    if (known) continue
    const last = found.at(-1)
    if (last !== undefined && last.end === index) last.end++
    else found.push({ start: index, end: index + 1 })
  }
  return found
}

interface ChartProperties {
  readonly columns: readonly Column[]
  readonly words: ColumnWords
  readonly name: string
  /** Says a column in words; gets undefined while none is read. */
  describe(column: Column | undefined): string
  readonly selected: Span | undefined
  /** The beginning of the column that is read. */
  readonly pointed: number | undefined
  onPoint(from: number | undefined): void
  onSelect(span: Span | undefined): void
}

/**
 * Stacked columns. The plot is a slider for the keyboard: arrow keys read a column, with Shift they select columns, as dragging does.
 */
export function Chart({ columns, words, name, describe, selected, pointed, onPoint, onSelect }: ChartProperties) {
  const plot = useRef<HTMLDivElement>(null)
  const byKeys = useRef(false)
  /** Where a selection has begun, and where it has got to. */
  const [drag, setDrag] = useState<{ readonly start: number; readonly end: number }>()
  const top = topOf(columns.map(heightsOf))
  const cut = columns.flatMap((column, index) => (heightsOf(column) > top ? [`M${index} 0h1`] : []))
  const count = columns.length
  const indexOf = (at: number): number => columns.findIndex(({ from, to }) => at >= from && at < to)
  const reading = pointed === undefined ? -1 : indexOf(pointed)

  const bars = useMemo(() => {
    const drawn = paths(columns, top)
    return (
      <>
        {gaps(columns).map(({ start, end }) => (
          <rect class="gap" key={start} x={start} y="0" width={end - start} height="100" />
        ))}
        <path class="grid" d={`M0 0H${count}M0 50H${count}M0 100H${count}`} />
        {STATUSES.map((status) => (
          <path class={`stack status-${status}`} key={status} d={drawn[status]} />
        ))}
      </>
    )
  }, [columns, top])

  const within = (index: number): number => Math.min(Math.max(index, 0), count - 1)
  const spanOf = (one: number, other: number): Span | undefined => {
    const [first, last] = [columns[Math.min(one, other)], columns[Math.max(one, other)]]
    return first && last && { from: first.from, to: last.to }
  }
  const columnAt = ({ clientX }: PointerEvent): Column | undefined => {
    const { left = 0, width = 1 } = plot.current?.getBoundingClientRect() ?? {}
    return columns[within(Math.floor(((clientX - left) / width) * count))]
  }

  const onPointerDown = (event: TargetedPointerEvent<HTMLDivElement>) => {
    const at = columnAt(event)?.from
    if (event.button !== 0 || at === undefined) return
    setDrag({ start: at, end: at })
    event.currentTarget.setPointerCapture(event.pointerId)
  }
  const onPointerMove = (event: PointerEvent) => {
    byKeys.current = false
    const at = columnAt(event)?.from
    onPoint(at)
    if (drag && at !== undefined) setDrag({ ...drag, end: at })
  }
  /** The pointer may leave because something above was added, while somebody reads with the keys. */
  const onPointerLeave = () => {
    if (!byKeys.current) onPoint(undefined)
  }
  const onPointerUp = () => {
    if (!drag) return
    setDrag(undefined)
    onSelect(drag.start === drag.end ? undefined : dragged())
  }
  /** Columns may have moved out of the chart since. */
  const dragged = () => drag && spanOf(Math.max(indexOf(drag.start), 0), Math.max(indexOf(drag.end), 0))

  const onKeyDown = (event: KeyboardEvent) => {
    const { key, shiftKey } = event
    const now = reading < 0 ? count - 1 : reading
    const targets: Readonly<Record<string, number>> = {
      ArrowLeft: now - 1,
      ArrowRight: now + 1,
      ArrowDown: now - 1,
      ArrowUp: now + 1,
      PageDown: now - PAGE,
      PageUp: now + PAGE,
      Home: 0,
      End: count - 1,
    }
    if (key === 'Escape') onSelect(undefined)
    const wanted = targets[key]
    if (wanted === undefined) return
    event.preventDefault()
    byKeys.current = true
    const target = within(wanted)
    onPoint(columns[target]?.from)
    if (!shiftKey) return
    // The end that is read moves, the other one stays.
    const [start, end] = selected ? [indexOf(selected.from), indexOf(selected.to - 1)] : [-1, -1]
    const anchor = end === now && start >= 0 ? start : selected && start === now ? end : now
    onSelect(spanOf(anchor, target))
  }

  const shown = dragged() ?? selected
  const isVisible = shown && shown.to > (columns[0]?.from ?? 0) && shown.from < (columns.at(-1)?.to ?? 0)
  const start = shown ? Math.max(indexOf(shown.from), 0) : 0
  const last = shown ? indexOf(shown.to - 1) : -1
  const end = last < 0 ? count : last + 1
  return (
    <>
      <div class="chart">
        <div class="scale" aria-hidden="true">
          {[top, top / 2, 0].map((value) => (
            <span key={value}>{decimal(value)}</span>
          ))}
        </div>
        <div
          class="plot"
          ref={plot}
          role="slider"
          tabindex={0}
          aria-label={name}
          aria-valuemin={0}
          aria-valuemax={count - 1}
          aria-valuenow={reading < 0 ? count - 1 : reading}
          aria-valuetext={describe(columns[reading])}
          onPointerDown={onPointerDown}
          onPointerMove={onPointerMove}
          onPointerUp={onPointerUp}
          onPointerCancel={() => setDrag(undefined)}
          onPointerLeave={onPointerLeave}
          onBlur={() => onPoint(undefined)}
          onKeyDown={onKeyDown}
        >
          <svg viewBox={`0 0 ${count} 100`} preserveAspectRatio="none" aria-hidden="true">
            {isVisible && <rect class="selected" x={start} y="0" width={end - start} height="100" />}
            {bars}
            {cut.length > 0 && <path class="cut" d={cut.join('')} />}
            {reading >= 0 && <rect class="pointed" x={reading} y="0" width="1" height="100" />}
          </svg>
        </div>
        <div class="times" aria-hidden="true">
          {columns.map(
            (column, index) =>
              index / count < LAST_LABEL &&
              words.every(column, index, count) && (
                <span key={column.from} style={{ left: `${(index / count) * 100}%` }}>
                  {words.label(column.from)}
                </span>
              ),
          )}
        </div>
      </div>
      {cut.length > 0 && <p class="note remark">{t('now.cut')}</p>}
    </>
  )
}
