import type { RefObject } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'

interface Moves<Row> {
  readonly box: RefObject<HTMLDivElement | null>
  readonly rows: readonly Row[]
  readonly keyOf: (row: Row) => string
  readonly height: number
}

/** Moves between the rows of a table by keys. One row is active: only its link and buttons are reached by Tab. */
export function useMoves<Row>({ box, rows, keyOf, height }: Moves<Row>) {
  const [active, setActive] = useState<string>()
  const focusNext = useRef(false)
  const key = active ?? (rows[0] && keyOf(rows[0]))
  const linkAt = (index: number) => box.current?.querySelector<HTMLAnchorElement>(`[aria-rowindex="${index + 2}"] a`)
  const now = rows.findIndex((row) => keyOf(row) === key)

  const focusActive = (index: number) => {
    const link = linkAt(index)
    link?.focus({ preventScroll: true })
    link?.scrollIntoView({ block: 'nearest' })
    focusNext.current = !link
  }
  useLayoutEffect(() => {
    if (focusNext.current) focusActive(now)
  })

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || rows.length === 0 || box.current === null) return
    const inRows = box.current !== document.activeElement
    if (event.key === 'Enter' && !inRows) return linkAt(now)?.click()
    const page = Math.max(1, Math.floor(innerHeight / height) - 4)
    const moves: Record<string, number> = {
      ArrowDown: inRows ? 1 : 0,
      ArrowUp: -1,
      PageDown: page,
      PageUp: -page,
      Home: -rows.length,
      End: rows.length,
    }
    const move = moves[event.key]
    if (move === undefined) return
    event.preventDefault()
    const index = Math.min(Math.max(Math.max(now, 0) + move, 0), rows.length - 1)
    // A row that is not in the document comes with the rows around it.
    if (!linkAt(index)) scrollBy(0, box.current.getBoundingClientRect().top + index * height - innerHeight / 2)
    const row = rows[index]
    if (row !== undefined) setActive(keyOf(row))
    focusNext.current = true
    // The row may be the active one already, and then nothing is drawn again.
    if (index === now) focusActive(index)
  }

  const onFocusIn = ({ target }: FocusEvent) => {
    const index = target instanceof Element && target.closest('tr.row')?.getAttribute('aria-rowindex')
    const row = index ? rows[Number(index) - 2] : undefined
    if (row !== undefined) setActive(keyOf(row))
  }

  return { active: key, onKeyDown, onFocusIn }
}
