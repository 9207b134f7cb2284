import type { ComponentChildren, TargetedMouseEvent } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Pages } from '../lib/pages.ts'
import { printing } from '../lib/printing.ts'
import { setParameters } from '../lib/route.ts'
import { type TextKey, t } from '../lib/texts.ts'
import { Problem } from './problem.tsx'
import { useMoves } from './table-moves.ts'

/** The cell of the first column becomes the link to the row, so it says what the row is. The last column stands beside it on a phone. */
export interface Column<Row> {
  /** Left out for what can be done with a row. */
  readonly title?: TextKey
  readonly cell: (row: Row, tabIndex: number) => ComponentChildren
  readonly width?: string
  readonly number?: boolean
  /** Left out on a phone. */
  readonly wide?: boolean
  /** The parameters of the address that show only rows like this one: the cell becomes a button. */
  readonly only?: (row: Row) => Readonly<Record<string, unknown>> | false | null | undefined
}

interface TableProperties<Row, Cursor> {
  readonly label: string
  /** A list that stays the same. */
  readonly columns: readonly Column<Row>[]
  readonly pages: Pages<Row, Cursor>
  readonly linkOf: (row: Row) => string
  readonly empty: ComponentChildren
}

/** The range of rows moves in steps of so many, with a margin above and below the visible ones. */
const STEP = 6
const MARGIN = 12
const USUAL_HEIGHT = 36
const SKELETONS = ['a', 'b', 'c', 'd', 'e', 'f']

/** A table that scrolls with the page. Only its visible rows are in the document. All are equally high: a cell has one line. */
export function Table<Row, Cursor>({ label, columns, pages, linkOf, empty }: TableProperties<Row, Cursor>) {
  const box = useRef<HTMLDivElement>(null)
  const { keyOf } = pages
  const { rows, held, next, scanned, loading, error, announced } = pages.state.value
  const [view, setView] = useState({ from: 0, to: 4 * MARGIN, height: pages.height || USUAL_HEIGHT })

  const measure = () => {
    if (!box.current) return
    const { top } = box.current.getBoundingClientRect()
    const height = box.current.querySelector('tr.row')?.getBoundingClientRect().height || view.height
    Object.assign(pages, { top: scrollY, height })
    const from = Math.max(0, Math.floor((-top / height - MARGIN) / STEP) * STEP)
    const to = Math.ceil(((innerHeight - top) / height + MARGIN) / STEP) * STEP
    setView((before) =>
      before.from === from && before.to === to && before.height === height ? before : { from, to, height },
    )
  }
  const { active, onKeyDown, onFocusIn } = useMoves({ box, rows, keyOf, height: view.height })

  const waiting = loading || (next === undefined && !error)

  pages.isReading = () => box.current !== null && isReading(box.current)
  // A list begins at the top of the page, or where it was left.
  useLayoutEffect(() => scrollTo(0, pages.top), [pages])
  useLayoutEffect(measure)
  useEffect(() => {
    const observer = new ResizeObserver(measure)
    observer.observe(document.body)
    addEventListener('scroll', measure, { passive: true })
    return () => {
      observer.disconnect()
      removeEventListener('scroll', measure)
    }
  }, [pages])
  useEffect(() => {
    // A long search that found nothing goes on only by the button.
    if (rows.length > 0 && view.to >= rows.length && next !== null && !error) void pages.more()
  }, [view.to, rows.length, next === undefined])

  if (rows.length === 0 && !loading && next === null && error === undefined) return <div class="empty">{empty}</div>
  const from = printing.value ? 0 : Math.min(view.from, Math.max(0, rows.length - 2 * MARGIN))
  const shown = printing.value ? rows : rows.slice(from, view.to)
  const reached = shown.find((row) => keyOf(row) === active) ?? shown[0]
  const newest = () => {
    pages.showHeld()
    scrollTo(0, 0)
    box.current?.focus({ preventScroll: true })
  }
  return (
    <div class="rows">
      {held.length > 0 && (
        <button class="newer" onClick={newest}>
          {t('table.newer', { count: held.length })}
        </button>
      )}
      <div
        class="rows-box"
        ref={box}
        tabIndex={-1}
        role="region"
        aria-label={label}
        onKeyDown={onKeyDown}
        onFocusIn={onFocusIn}
      >
        <table aria-label={label} aria-rowcount={next === null ? rows.length + 1 : -1} aria-busy={waiting}>
          <colgroup>
            {columns.map(({ title, width }) => (
              <col key={title} style={{ width: width ?? 'auto' }} />
            ))}
          </colgroup>
          <thead>
            <tr aria-rowindex={1}>
              {columns.map((column) => (
                <Head key={column.title} {...column} />
              ))}
            </tr>
          </thead>
          <Gap rows={from} height={view.height} />
          <tbody>
            {shown.map((row, index) => (
              <TableRow
                key={keyOf(row)}
                row={row}
                index={from + index}
                columns={columns}
                linkOf={linkOf}
                active={row === reached}
              />
            ))}
            {waiting && SKELETONS.map((key) => <Skeleton key={key} columns={columns} />)}
          </tbody>
          <Gap rows={rows.length - from - shown.length} height={view.height} />
        </table>
      </div>
      {error && <Problem error={error} again={rows.length === 0 ? () => pages.reload() : pages.more} />}
      {(rows.length > 0 || error === undefined) && (
        <p class="line rows-foot">
          <span class="note">{t(next === null ? 'table.all' : 'table.loaded', { count: rows.length })}</span>
          {next !== null && scanned && (
            <span class="note">{t('table.scanned', { count: scanned.Positions, all: scanned.Of })}</span>
          )}
          {next !== null && (
            <button onClick={pages.more} disabled={loading}>
              {t(scanned ? 'table.continue' : 'table.more')}
            </button>
          )}
          <span class="visually-hidden" role="status">
            {announced !== undefined && t('table.loaded', { count: announced })}
          </span>
        </p>
      )}
    </div>
  )
}

type HeadProperties = Pick<Column<unknown>, 'title' | 'number' | 'wide'>

const Head = ({ title, ...column }: HeadProperties) =>
  title === undefined ? (
    <td></td>
  ) : (
    <th scope="col" class={classOf(column)}>
      {t(title)}
    </th>
  )

/** Rows move only while the first one is on screen, and none has the focus. */
const isReading = (box: Element): boolean =>
  box.getBoundingClientRect().top < 0 || (box !== document.activeElement && box.contains(document.activeElement))

/** Stands for rows that are not in the document. In Firefox rows have heights, and groups of rows do not. */
const Gap = ({ rows, height }: { readonly rows: number; readonly height: number }) =>
  rows > 0 ? (
    <tbody aria-hidden="true" class="gap">
      <tr style={{ height: `${rows * height}px` }}></tr>
    </tbody>
  ) : null

const classOf = ({ number, wide }: { readonly number?: boolean; readonly wide?: boolean }) =>
  number ? 'number' : wide ? 'wide' : undefined

interface RowProperties<Row> {
  readonly row: Row
  readonly index: number
  readonly columns: readonly Column<Row>[]
  readonly linkOf: (row: Row) => string
  readonly active: boolean
}

/** Reads texts, and so signals: such a component is made again only when its properties or the signals change. */
function TableRow<Row>({ row, index, columns, linkOf, active }: RowProperties<Row>) {
  const tabIndex = active ? 0 : -1
  const cells = columns.map((column, place) => {
    const content = column.cell(row, tabIndex)
    const filter = content !== null && content !== undefined && column.only?.(row)
    return (
      <td key={column.title} class={classOf(column)} data-title={column.title && t(column.title)}>
        {place === 0 ? (
          <a href={linkOf(row)} tabIndex={tabIndex}>
            {content}
          </a>
        ) : filter ? (
          <button class="only" tabIndex={tabIndex} title={t('table.only')} onClick={() => setParameters(filter)}>
            {content}
          </button>
        ) : (
          content
        )}
      </td>
    )
  })
  return (
    <tr class="row" aria-rowindex={index + 2} onClick={openRow}>
      {cells}
    </tr>
  )
}

/** A click beside links and buttons opens the row, too. */
function openRow({ target, currentTarget }: TargetedMouseEvent<HTMLTableRowElement>) {
  if ((target instanceof Element && target.closest('a, button')) || String(getSelection()) !== '') return
  currentTarget.querySelector('a')?.click()
}

const Skeleton = ({ columns }: { readonly columns: readonly { readonly title?: TextKey }[] }) => (
  <tr class="skeleton" aria-hidden="true">
    {columns.map(({ title }) => (
      <td key={title}>
        <span></span>
      </td>
    ))}
  </tr>
)
