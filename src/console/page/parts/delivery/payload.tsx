import type { ComponentChild, TargetedKeyboardEvent } from 'preact'
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { visible } from '../../lib/foreign.tsx'
import { firstAbove, tokenize } from '../../lib/payload/json-tokens.ts'
import { deliveredLines, formattedLines, layOut, lineOf } from '../../lib/payload/payload-lines.ts'
import { printing } from '../../lib/printing.ts'
import { t } from '../../lib/texts.ts'

type Layout = ReturnType<typeof layOut>
type LaidOutRow = ReturnType<Layout['rowAt']>

interface Match {
  readonly start: number
  readonly end: number
}

interface Matches {
  readonly list: readonly Match[]
  readonly ends: readonly number[]
}

interface RowProperties {
  readonly row: LaidOutRow
  readonly text: string
  readonly matches: Matches
  readonly chosen: Match | undefined
  readonly toggle: ((line: number) => void) | undefined
  readonly folded: boolean
}

/** One row of a payload. Line numbers and buttons are not part of what is copied. */
const PayloadRow = ({ row: { number, line, indent, parts }, text, matches, chosen, toggle, folded }: RowProperties) => (
  <div class="payload-row">
    <span class="line" data-number={number ?? ''}></span>
    {toggle ? (
      <button
        class="fold"
        aria-expanded={!folded}
        aria-label={t('payload.line', { count: number ?? 0 })}
        onClick={() => toggle(line)}
      ></button>
    ) : (
      <span class="fold"></span>
    )}
    <span class="words">
      {' '.repeat(indent)}
      {parts.map((part) => partOf(part, text, matches, chosen))}
      {folded && <span class="note">…</span>}
    </span>
  </div>
)

function partOf({ start, end, kind }: LaidOutRow['parts'][number], text: string, matches: Matches, chosen?: Match) {
  if (kind === 'gap') return ' '
  if (matches.list.length === 0) return <span class={kind}>{visible(text.slice(start, end))}</span>
  const found: ComponentChild[] = []
  let at = start
  for (const match of matches.list.slice(firstAbove(matches.ends, start))) {
    if (match.start >= end) break
    const [from, to] = [Math.max(start, match.start), Math.min(end, match.end)]
    found.push(...visible(text.slice(at, from)))
    found.push(<mark class={match === chosen ? 'chosen' : undefined}>{visible(text.slice(from, to))}</mark>)
    at = to
  }
  return (
    <span class={kind}>
      {found}
      {visible(text.slice(at, end))}
    </span>
  )
}

const MAX_MATCHES = 10_000
/** Rows above and below the visible ones that are in the document, too. */
const MARGIN = 10
const MAX_PRINTED = 20_000

/** Positions of a search text, whatever the letter case, and where they end as a list of its own. */
function matchesOf(text: string, query: string): Matches {
  if (query === '') return { list: [], ends: [] }
  const pattern = new RegExp(query.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'), 'giu')
  const list = Iterator.from(text.matchAll(pattern))
    .take(MAX_MATCHES)
    .map(({ index, 0: { length } }) => ({ start: index, end: index + length }))
    .toArray()
  return { list, ends: list.map(({ end }) => end) }
}

/** The text of a payload: highlighted, foldable, searchable. Only the visible rows are in the document. */
export function PayloadText({ text }: { readonly text: string }) {
  const [formatted, setFormatted] = useState(true)
  const [folded, setFolded] = useState<ReadonlySet<number>>(new Set())
  const [query, setQuery] = useState('')
  /** The index of the match that was shown last, or -1. */
  const [chosen, setChosen] = useState(-1)
  const [columns, setColumns] = useState(80)
  const [view, setView] = useState({ from: 0, to: 60 })
  const [height, setHeight] = useState(20)
  const box = useRef<HTMLDivElement>(null)
  const ruler = useRef<HTMLSpanElement>(null)

  const tokens = useMemo(() => tokenize(text), [text])
  const lines = useMemo(() => (formatted ? formattedLines(text, tokens) : deliveredLines(text)), [tokens, formatted])
  const layout = useMemo(
    () => layOut({ text, tokens, lines, folded: formatted ? folded : new Set<number>(), columns }),
    [lines, folded, columns],
  )
  const matches = useMemo(() => matchesOf(text, query), [text, query])
  const count = matches.list.length

  const measure = () => {
    if (!box.current) return
    const { scrollTop, clientHeight } = box.current
    const from = Math.max(0, Math.floor(scrollTop / height) - MARGIN)
    const to = Math.ceil((scrollTop + clientHeight) / height) + MARGIN
    setView((before) => (before.from === from && before.to === to ? before : { from, to }))
  }
  useLayoutEffect(measure, [layout, height])
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => {
      if (!box.current || !ruler.current) return
      const { width, height } = ruler.current.getBoundingClientRect()
      const room = box.current.clientWidth - 7 * width
      setColumns(Math.max(20, Math.floor(room / width) - 2))
      setHeight(height)
    })
    if (box.current) observer.observe(box.current)
    return () => observer.disconnect()
  }, [])

  /** Shows a match, and unfolds what hides it. */
  const show = (index: number) => {
    const match = matches.list[index % count]
    if (match === undefined) return
    setChosen(index % count)
    const line = lineOf(tokens, lines, match.start)
    const hiding = [...folded].filter((start) => start < line && line <= (lines.close[start] ?? 0))
    const open = new Set([...folded].filter((start) => !hiding.includes(start)))
    if (hiding.length > 0) setFolded(open)
    const shown = hiding.length > 0 ? layOut({ text, tokens, lines, folded: open, columns }) : layout
    const top = shown.rowOf(match.start) * height
    requestAnimationFrame(() => {
      if (!box.current) return
      const { scrollTop, clientHeight } = box.current
      if (top < scrollTop || top + 2 * height > scrollTop + clientHeight) box.current.scrollTop = top - clientHeight / 3
    })
  }
  const before = (chosen <= 0 ? count : chosen) - 1
  const onSearchKey = (event: TargetedKeyboardEvent<HTMLInputElement>) => {
    if (event.key !== 'Enter') return
    event.preventDefault()
    show(event.shiftKey ? before : chosen + 1)
  }
  const toggle = (line: number) => {
    const changed = new Set(folded)
    if (!changed.delete(line)) changed.add(line)
    setFolded(changed)
  }
  const foldAll = () =>
    setFolded(
      new Set(
        Object.keys(lines.close)
          .map(Number)
          .filter((line) => line > 0),
      ),
    )

  const from = printing.value ? 0 : view.from
  const to = Math.min(layout.rows, printing.value ? MAX_PRINTED : view.to)
  const rows = Array.from({ length: Math.max(0, to - from) }, (_, index) => layout.rowAt(from + index))
  return (
    <>
      <div class="line payload-tools">
        <label>
          <span class="visually-hidden">{t('payload.search')}</span>
          <input
            type="search"
            placeholder={t('payload.search')}
            value={query}
            spellcheck={false}
            autocomplete="off"
            onInput={(event) => {
              setQuery(event.currentTarget.value)
              setChosen(-1)
            }}
            onKeyDown={onSearchKey}
          />
        </label>
        {query !== '' && (
          <>
            <span class="note" role="status">
              {t('payload.matches', { count })}
            </span>
            <button disabled={count === 0} onClick={() => show(before)}>
              {t('payload.previous')}
            </button>
            <button disabled={count === 0} onClick={() => show(chosen + 1)}>
              {t('payload.next')}
            </button>
          </>
        )}
        <button aria-pressed={!formatted} onClick={() => setFormatted(!formatted)}>
          {t('payload.delivered')}
        </button>
        {formatted && lines.close.length > 1 && (
          <button onClick={folded.size > 0 ? () => setFolded(new Set()) : foldAll}>
            {t(folded.size > 0 ? 'payload.unfold' : 'payload.fold')}
          </button>
        )}
      </div>
      <div class="payload" ref={box} tabIndex={0} role="region" aria-label={t('payload.title')} onScroll={measure}>
        <span class="ruler" ref={ruler} aria-hidden="true">
          0
        </span>
        <div class="payload-rows" style={{ height: printing.value ? 'auto' : `${layout.rows * height}px` }}>
          <div style={{ transform: printing.value ? 'none' : `translateY(${from * height}px)` }}>
            {rows.map((row) => (
              <PayloadRow
                key={row.row}
                row={row}
                text={text}
                matches={matches}
                chosen={matches.list[chosen]}
                toggle={formatted && row.foldable ? toggle : undefined}
                folded={formatted && folded.has(row.line)}
              />
            ))}
          </div>
        </div>
      </div>
    </>
  )
}
