import { h } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { whole } from '../lib/format.ts'
import { printing } from '../lib/printing.ts'
import { setParameters } from '../lib/route.ts'
import { t } from '../lib/texts.ts'
import { Problem } from './problem.tsx'

/** Moves between the rows of a table by keys. One row is active: only its link and buttons are reached by Tab. */
export function useMoves({ box, rows, keyOf, measure }) {
  const [active, setActive] = useState()
  const focusNext = useRef(false)
  const key = active ?? (rows[0] && keyOf(rows[0]))
  const rowOf = (index) => box.current?.querySelector(`[aria-rowindex="${index + 2}"]`)

  useLayoutEffect(() => {
    if (!focusNext.current) return
    const link = rowOf(rows.findIndex((row) => keyOf(row) === key))?.querySelector('a')
    if (!link) return
    focusNext.current = false
    link.focus({ preventScroll: true })
  })

  const onKeyDown = (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || rows.length === 0) return
    const { scrollTop, clientHeight } = box.current
    const height = box.current.querySelector('tr.row').getBoundingClientRect().height
    const head = box.current.querySelector('thead').getBoundingClientRect().height
    const page = Math.max(1, Math.floor((clientHeight - head) / height) - 1)
    const now = rows.findIndex((row) => keyOf(row) === key)
    const inRows = box.current !== document.activeElement
    const moves = {
      ArrowDown: inRows ? 1 : 0,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -rows.length,
      End: rows.length,
    }
    if (event.key === 'Enter' && !inRows) return rowOf(now)?.querySelector('a').click()
    if (moves[event.key] === undefined) return
    event.preventDefault()
    const index = Math.min(Math.max(Math.max(now, 0) + moves[event.key], 0), rows.length - 1)
    const top = index * height
    if (top < scrollTop) box.current.scrollTop = top
    else if (top + height + head > scrollTop + clientHeight) box.current.scrollTop = top + height + head - clientHeight
    focusNext.current = true
    measure()
    setActive(keyOf(rows[index]))
    // The row may be the active one already, and then nothing is drawn again.
    if (keyOf(rows[index]) === key) rowOf(index)?.querySelector('a').focus({ preventScroll: true })
  }

  const onFocusIn = ({ target }) => {
    const index = target.closest('tr.row')?.getAttribute('aria-rowindex')
    if (index) setActive(keyOf(rows[index - 2]))
  }

  return { active: key, onKeyDown, onFocusIn }
}

/** The range of rows moves in steps of so many, with a margin above and below the visible ones. */
const STEP = 6
const MARGIN = 12
const SKELETONS = ['a', 'b', 'c', 'd', 'e', 'f']

/**
 * A table of `pages` (lib/pages.js) of which only the visible rows are in the document. All rows are equally high: a cell shows one line.
 *
 * columns: a list that stays the same, of
 *   `{ name, title: () => text, cell: (row) => node, width: '10rem', number: true, aside: true, only: (row) => parameters of the address }`.
 *   On a phone, a cell `aside` stands in the corner, if there is something in it. The first column's cell becomes the link to the row; a cell with `only` becomes a button that filters.
 * linkOf: the address that a row opens. empty: what to show if there is nothing.
 */
export function Table({ label, columns, pages, linkOf, empty }) {
  const box = useRef()
  const { rows, held, next, scanned, loading, error, announced } = pages.state.value
  const [view, setView] = useState({ from: 0, to: 4 * MARGIN, height: pages.height })

  const measure = () => {
    if (!box.current) return
    const { scrollTop, clientHeight } = box.current
    const height = box.current.querySelector('tr.row')?.getBoundingClientRect().height || view.height || 34
    Object.assign(pages, { top: scrollTop, height })
    const from = Math.max(0, Math.floor((scrollTop / height - MARGIN) / STEP) * STEP)
    const to = Math.ceil(((scrollTop + clientHeight) / height + MARGIN) / STEP) * STEP
    setView((before) =>
      before.from === from && before.to === to && before.height === height ? before : { from, to, height },
    )
  }
  const { active, onKeyDown, onFocusIn } = useMoves({ box, rows, keyOf: pages.keyOf, measure })

  const waiting = loading || (next === undefined && !error)
  const isEmpty = rows.length === 0 && !loading && next === null && error === undefined

  pages.isReading = () => Boolean(box.current && isReading(box.current))
  // A list begins at its top, or where it was left.
  useLayoutEffect(() => {
    if (box.current) box.current.scrollTop = pages.top
  }, [pages])
  useLayoutEffect(measure)
  useEffect(() => {
    if (isEmpty) return undefined
    const observer = new ResizeObserver(measure)
    observer.observe(box.current)
    return () => observer.disconnect()
  }, [isEmpty])
  useEffect(() => {
    // A long search that found nothing goes on only by the button.
    if (rows.length > 0 && view.to >= rows.length && next !== null && !error) void pages.more()
  }, [view.to, rows.length, next === undefined])

  if (isEmpty) return <div class="empty">{empty}</div>
  const from = printing.value ? 0 : Math.min(view.from, Math.max(0, rows.length - 2 * MARGIN))
  const shown = printing.value ? rows : rows.slice(from, view.to)
  const newest = () => {
    pages.showHeld()
    box.current.scrollTop = 0
    box.current.focus()
  }
  return (
    <div class="rows">
      {held.length > 0 && (
        <button class="newer" onClick={newest}>
          {t('table.newer', counted(held.length))}
        </button>
      )}
      <div
        class="rows-box"
        ref={box}
        tabindex="0"
        role="region"
        aria-label={label}
        onScroll={measure}
        onKeyDown={onKeyDown}
        onFocusIn={onFocusIn}
      >
        <table aria-label={label} aria-rowcount={next === null ? rows.length + 1 : -1} aria-busy={String(waiting)}>
          <colgroup>
            {columns.map(({ name, width }) => (
              <col key={name} style={{ width: width ?? 'auto' }} />
            ))}
          </colgroup>
          <thead>
            <tr aria-rowindex="1">
              {columns.map(({ name, title, number }) => (
                <th key={name} scope="col" class={number ? 'number' : undefined}>
                  {title()}
                </th>
              ))}
            </tr>
          </thead>
          <Gap rows={from} height={view.height} />
          <tbody>
            {shown.map((row, index) => {
              const key = pages.keyOf(row)
              const isActive = key === active
              return (
                <Row key={key} row={row} index={from + index} columns={columns} linkOf={linkOf} active={isActive} />
              )
            })}
            {waiting && SKELETONS.map((key) => <Skeleton key={key} columns={columns} />)}
          </tbody>
          <Gap rows={rows.length - from - shown.length} height={view.height} />
        </table>
      </div>
      {error && <Problem error={error} again={rows.length === 0 ? () => pages.reload() : pages.more} />}
      <p class="rows-foot">
        <span class="note">
          {next === null ? t('table.all', counted(rows.length)) : t('table.loaded', counted(rows.length))}
        </span>
        {next !== null && scanned && (
          <span class="note">{t('table.scanned', { count: whole(scanned.Positions), all: whole(scanned.Of) })}</span>
        )}
        {next !== null && (
          <button onClick={pages.more} disabled={loading}>
            {scanned ? t('table.continue') : t('table.more')}
          </button>
        )}
        <span class="visually-hidden" role="status">
          {announced !== undefined && t('table.loaded', counted(announced))}
        </span>
      </p>
    </div>
  )
}

const counted = (number) => ({ number, count: whole(number) })

/** Rows move only at the top, and only while none has the focus. */
const isReading = (box) => box.scrollTop > 0 || (box !== document.activeElement && box.contains(document.activeElement))

/** Stands for rows that are not in the document. */
const Gap = ({ rows, height }) =>
  rows > 0 ? <tbody aria-hidden="true" style={{ height: `${rows * height}px` }} class="gap"></tbody> : null

/**
 * Reads texts, and so signals: such a component is made again only when its properties or the signals change. It makes its
 * elements without a template, because rows are made in the middle of scrolling.
 */
function Row({ row, index, columns, linkOf, active }) {
  const tabindex = active ? 0 : -1
  const cells = columns.map(({ name, title, cell, number, aside, only }, place) => {
    const content = cell(row)
    const filter = content !== null && content !== undefined && only?.(row)
    const inside =
      place === 0
        ? h('a', { href: linkOf(row), tabindex }, content)
        : filter
          ? h(
              'button',
              { class: 'only', tabindex, title: t('table.only'), onClick: () => setParameters(filter) },
              content,
            )
          : content
    return h('td', { key: name, class: number ? 'number' : aside && 'aside', 'data-title': title() }, inside)
  })
  return h('tr', { class: 'row', 'aria-rowindex': index + 2, onClick: openRow }, cells)
}

/** A click beside links and buttons opens the row, too. */
function openRow(event) {
  if (event.target.closest('a, button') || String(getSelection()) !== '') return
  event.currentTarget.querySelector('a').click()
}

const Skeleton = ({ columns }) => (
  <tr class="skeleton" aria-hidden="true">
    {columns.map(({ name, aside }) => (
      <td key={name} class={aside && 'aside'}>
        <span></span>
      </td>
    ))}
  </tr>
)
