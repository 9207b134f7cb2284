import { signal } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'

/** A page may be short or empty although more follow: so many are read before the reader is asked to go on. */
const MOST_PAGES_AT_ONCE = 20
const ENOUGH_ROWS = 25
/** Live rows push the oldest ones out, which are read again when somebody scrolls down to them. */
const MOST_LIVE_ROWS = 10_000

/**
 * Rows that are read page by page: `usePages((place) => ..., [query], keyOf)`. `load` gets `{ cursor, before, signal }` and returns
 * `{ rows, next }`, with null as `next` at the end. After a gap, `before` is the row below which to read on, and rows that are known
 * already may come again. Other inputs begin a new list.
 */
export function usePages(load, inputs, keyOf) {
  const latest = useRef(load)
  latest.current = load
  const pages = useMemo(() => createPages((place) => latest.current(place), keyOf), [JSON.stringify(inputs)])
  useEffect(() => {
    void pages.more()
    return pages.leave
  }, [pages])
  return pages
}

export function createPages(load, keyOf) {
  const leaving = new AbortController()
  const known = new Set()
  /** `held`: rows that came while somebody was reading. `announced`: how many rows the last reading ended with. */
  const state = signal({ rows: [], held: [], next: undefined, before: undefined, loading: false, announced: undefined })
  const set = (changes) => {
    if (!leaving.signal.aborted) state.value = { ...state.peek(), ...changes }
  }
  const unknown = (rows) =>
    rows.filter((row) => {
      const key = keyOf(row)
      return !known.has(key) && known.add(key)
    })

  async function more() {
    const { loading, next, before } = state.peek()
    if (loading || next === null) return
    set({ loading: true, error: undefined })
    try {
      let cursor = next
      for (let read = 0, found = 0; read < MOST_PAGES_AT_ONCE && found < ENOUGH_ROWS && cursor !== null; read++) {
        const page = await load({ cursor, before, signal: leaving.signal })
        // A gap came in between: this page belongs to the list that was there before.
        if (state.peek().before !== before) break
        // Rows may have arrived while the first page was read, and it may begin with newer ones.
        const firstKnown = page.rows.findIndex((row) => known.has(keyOf(row)))
        const newer = cursor === undefined && firstKnown > 0 ? unknown(page.rows.slice(0, firstKnown)) : []
        const older = unknown(page.rows)
        cursor = page.next
        found += page.rows.length
        set({ rows: [...newer, ...state.peek().rows, ...older], next: cursor })
      }
      set({ loading: false, announced: state.peek().rows.length })
    } catch (error) {
      set({ loading: false, error })
    }
  }

  /** Begins again with these rows; what lies below them is read from the last one on. */
  function startFrom(rows) {
    known.clear()
    set({ rows: unknown(rows), held: [], next: undefined, before: rows.at(-1), error: undefined })
  }

  return {
    state,
    keyOf,
    more,
    leave: () => leaving.abort(),
    /** Whether somebody reads, so that nothing may move. The table says it. */
    isReading: () => false,

    reload() {
      known.clear()
      set({ rows: [], held: [], next: undefined, before: undefined, error: undefined })
      return more()
    },

    /** Takes new rows, newest first. With a gap, others came between them and those that are shown. */
    arrive(rows, { gap = false } = {}) {
      const { rows: shown, held } = state.peek()
      if (gap && !this.isReading()) return startFrom(rows)
      const added = unknown(rows)
      if (added.length === 0) return
      if (this.isReading()) set({ held: [...added, ...held], gap: gap || state.peek().gap })
      else if (shown.length + added.length > MOST_LIVE_ROWS)
        startFrom([...added, ...shown].slice(0, MOST_LIVE_ROWS / 2))
      else set({ rows: [...added, ...shown] })
    },

    showHeld() {
      const { rows, held, gap } = state.peek()
      set({ held: [], gap: false })
      if (gap) startFrom(held)
      else set({ rows: [...held, ...rows] })
    },
  }
}
