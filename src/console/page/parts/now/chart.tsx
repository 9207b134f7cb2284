import { useMemo, useRef, useState } from 'preact/hooks'

const STATUSES = [0, 1, 2, 3]
const BAR = 0.8
/** How far a page key goes. */
const PAGE = 12
/** The part of the width in which a label of a time may begin: further right it would be cut off. */
const LAST_LABEL = 0.92

const heightOf = (column, status) => column.byStatus[status] / column.seconds
const sumOf = (column) => STATUSES.reduce((sum, status) => sum + heightOf(column, status), 0)

/** The smallest round number that is not below a value and has a round half. */
export function roundTop(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)))
  return [2, 4, 6, 8, 10, 20].map((step) => step * power).find((top) => top >= value)
}

/** One path for each Status, so that a new second changes four attributes. */
function paths(columns, top) {
  const drawn = STATUSES.map(() => '')
  for (const [index, column] of columns.entries()) {
    let y = 100
    for (const status of STATUSES) {
      const height = (heightOf(column, status) / top) * 100
      if (height === 0) continue
      y -= height
      drawn[status] += `M${(index + (1 - BAR) / 2).toFixed(1)} ${y.toFixed(2)}h${BAR}v${height.toFixed(2)}h-${BAR}z`
    }
  }
  return drawn
}

/** Stretches of columns that nobody has counted. */
function gaps(columns) {
  const found = []
  for (const [index, { known }] of columns.entries()) {
    if (known) continue
    const last = found.at(-1)
    if (last?.end === index) last.end++
    else found.push({ start: index, end: index + 1 })
  }
  return found
}

/**
 * Stacked columns. The plot is a slider for the keyboard: arrow keys read a column, with Shift they select columns, as dragging does.
 * `onPoint` gets the beginning of the column that is read, `onSelect` the range that is selected, or undefined. `describe` says a column
 * in words; it gets undefined while none is read.
 */
export function Chart({ columns, words, name, describe, selected, pointed, onPoint, onSelect }) {
  const plot = useRef()
  /** Where a selection has begun, and where it has got to. */
  const [drag, setDrag] = useState()
  const top = roundTop(Math.max(...columns.map(sumOf)))
  const count = columns.length
  const indexOf = (at) => columns.findIndex(({ from, to }) => at >= from && at < to)
  const reading = pointed === undefined ? -1 : indexOf(pointed)

  const bars = useMemo(() => {
    const drawn = paths(columns, top)
    return (
      <>
        {gaps(columns).map(({ start, end }) => (
          <rect class="gap" x={start} y="0" width={end - start} height="100" />
        ))}
        <path class="grid" d={`M0 0H${count}M0 50H${count}M0 100H${count}`} />
        {STATUSES.map((status) => (
          <path class={`stack status-${status}`} d={drawn[status]} />
        ))}
      </>
    )
  }, [columns, top])

  const spanOf = (one, other) => ({
    from: columns[Math.min(one, other)].from,
    to: columns[Math.max(one, other)].to,
  })
  const columnAt = ({ clientX }) => {
    const { left, width } = plot.current.getBoundingClientRect()
    return Math.min(Math.max(Math.floor(((clientX - left) / width) * count), 0), count - 1)
  }
  const point = (index) => onPoint(columns[index]?.from)

  const onPointerDown = (event) => {
    if (event.button !== 0) return
    const at = columns[columnAt(event)].from
    setDrag({ start: at, end: at })
    event.currentTarget.setPointerCapture(event.pointerId)
  }
  const onPointerMove = (event) => {
    const index = columnAt(event)
    point(index)
    if (drag) setDrag({ ...drag, end: columns[index].from })
  }
  const onPointerUp = () => {
    if (!drag) return
    setDrag(undefined)
    onSelect(drag.start === drag.end ? undefined : dragged())
  }
  /** Columns may have moved out of the chart since. */
  const dragged = () => drag && spanOf(Math.max(indexOf(drag.start), 0), Math.max(indexOf(drag.end), 0))

  const onKeyDown = (event) => {
    const { key, shiftKey } = event
    const now = reading < 0 ? count - 1 : reading
    const targets = {
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
    if (!(key in targets)) return
    event.preventDefault()
    const target = Math.min(Math.max(targets[key], 0), count - 1)
    point(target)
    if (!shiftKey) return
    // The end that is read moves, the other one stays.
    const start = selected && indexOf(selected.from)
    const end = selected && indexOf(selected.to - 1)
    const anchor = selected && end === now && start >= 0 ? start : selected && start === now ? end : now
    onSelect(spanOf(anchor, target))
  }

  const shown = dragged() ?? selected
  const edges = shown && { from: indexOf(shown.from), to: indexOf(shown.to - 1) }
  const start = edges && (edges.from < 0 ? 0 : edges.from)
  const end = edges && (edges.to < 0 ? count : edges.to + 1)
  const visible = shown && shown.to > columns[0].from && shown.from < columns[count - 1].to
  return (
    <div class="chart">
      <div class="scale" aria-hidden="true">
        {[top, top / 2, 0].map((value) => (
          <span>{words.tick(value)}</span>
        ))}
      </div>
      <div
        class="plot"
        ref={plot}
        role="slider"
        tabindex="0"
        aria-label={name}
        aria-valuemin="0"
        aria-valuemax={count - 1}
        aria-valuenow={reading < 0 ? count - 1 : reading}
        aria-valuetext={describe(columns[reading])}
        onPointerDown={onPointerDown}
        onPointerMove={onPointerMove}
        onPointerUp={onPointerUp}
        onPointerCancel={() => setDrag(undefined)}
        onPointerLeave={() => onPoint(undefined)}
        onBlur={() => onPoint(undefined)}
        onKeyDown={onKeyDown}
      >
        <svg viewBox={`0 0 ${count} 100`} preserveAspectRatio="none" aria-hidden="true">
          {visible && <rect class="selected" x={start} y="0" width={end - start} height="100" />}
          {bars}
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
  )
}
