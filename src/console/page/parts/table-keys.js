import { useLayoutEffect, useRef, useState } from 'preact/hooks'

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
