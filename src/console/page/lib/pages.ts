import { signal } from '@preact/signals'
import type { ApiError } from './request.ts'

/** A page may be short or empty although more follow: so many are read before the reader is asked to go on. */
const MAX_PAGES_AT_ONCE = 20
const ENOUGH_ROWS = 25
/** Live rows push the oldest ones out, which are read again when somebody scrolls down to them. */
const MAX_LIVE_ROWS = 10_000

/** What a list reads at once, with null as `next` at the end, and `scanned` if it knows how far it has looked. */
export interface Page<Row, Cursor = string> {
  readonly rows: readonly Row[]
  readonly next: Cursor | null
  readonly scanned?: Scanned | undefined
}

interface Scanned {
  readonly Positions: number
  readonly Of: number
}

/** Where a page begins. After a gap, `before` is the row below which to read on, and rows that are known already may come again. */
export interface Place<Row, Cursor = string> {
  readonly cursor?: Cursor | undefined
  readonly before?: Row | undefined
  readonly signal?: AbortSignal
}

/** `held`: rows that came while somebody was reading. `announced`: how many rows the last reading ended with. */
interface Shown<Row, Cursor> {
  readonly rows: readonly Row[]
  readonly held: readonly Row[]
  /** Undefined until something was read. */
  readonly next: Cursor | null | undefined
  readonly scanned: Scanned | undefined
  readonly before: Row | undefined
  readonly gap: boolean
  readonly loading: boolean
  readonly error: ApiError | undefined
  readonly announced: number | undefined
}

const NOTHING = {
  rows: [],
  held: [],
  next: undefined,
  scanned: undefined,
  before: undefined,
  gap: false,
  loading: false,
  error: undefined,
}

/** A list that was left, and how far its table was scrolled. */
export type Left<Row, Cursor> = Partial<Shown<Row, Cursor>> & { readonly top: number; readonly height: number }

export type Pages<Row, Cursor = string> = ReturnType<typeof createPages<Row, Cursor>>

/** Rows that are read page by page. */
export function createPages<Row, Cursor = string>(
  load: (place: Place<Row, Cursor>) => Promise<Page<Row, Cursor>>,
  keyOf: (row: Row) => string,
  restored: Partial<Left<Row, Cursor>> = {},
) {
  const { top = 0, height = 0, ...place } = restored
  const leaving = new AbortController()
  const known = new Set([...(place.rows ?? []), ...(place.held ?? [])].map(keyOf))
  /** Which list is shown: an answer that was asked for before belongs to another one. */
  let round = 0
  const state = signal<Shown<Row, Cursor>>({ ...NOTHING, announced: undefined, ...place })
  const set = (changes: Partial<Shown<Row, Cursor>>): void => {
    if (!leaving.signal.aborted) state.value = { ...state.peek(), ...changes }
  }
  const unknown = (rows: readonly Row[]): Row[] =>
    rows.filter((row) => {
      const key = keyOf(row)
      return !known.has(key) && known.add(key)
    })

  async function more() {
    const { loading, next, before } = state.peek()
    if (loading || next === null) return
    const mine = round
    set({ loading: true, error: undefined })
    try {
      let cursor: Cursor | null | undefined = next
      for (let read = 0, found = 0; read < MAX_PAGES_AT_ONCE && found < ENOUGH_ROWS && cursor !== null; read++) {
        const page = await load({ cursor, before, signal: leaving.signal })
        if (mine !== round) return
        // Rows may have arrived while the first page was read, and it may begin with newer ones.
        const firstKnown = page.rows.findIndex((row) => known.has(keyOf(row)))
        const newer = cursor === undefined && firstKnown > 0 ? unknown(page.rows.slice(0, firstKnown)) : []
        const older = unknown(page.rows)
        cursor = page.next
        found += page.rows.length
        set({ rows: [...newer, ...state.peek().rows, ...older], next: cursor, scanned: page.scanned })
      }
      set({ loading: false, announced: state.peek().rows.length })
    } catch (error) {
      // `load` throws nothing else.
      if (mine === round) set({ loading: false, error: error as ApiError })
    }
  }

  function begin(rows: readonly Row[], place: Partial<Shown<Row, Cursor>> = {}): void {
    round++
    known.clear()
    set({ ...NOTHING, rows: unknown(rows), ...place })
  }

  /** Begins again with these rows; what lies below them is read from the last one on. */
  const startFrom = (rows: readonly Row[]): void => begin(rows, { before: rows.at(-1) })

  return {
    state,
    keyOf,
    more,
    leave: () => leaving.abort(),
    restored: place.next !== undefined,
    /** How far the table is scrolled, and how high a row is. The table says it. */
    top,
    height,
    /** Whether somebody reads, so that nothing may move. The table says it. */
    isReading: (): boolean => false,

    reload() {
      begin([])
      return more()
    },

    /** Shows a first page that was read again, as long as nobody reads. */
    replace: ({ rows, next }: Page<Row, Cursor>): void => begin(rows, { next }),

    /** Takes new rows, newest first. With a gap, others came between them and those that are shown. */
    arrive(rows: readonly Row[], { gap = false } = {}) {
      const { rows: shown, held } = state.peek()
      if (gap && !this.isReading()) return startFrom(rows)
      const added = unknown(rows)
      if (added.length === 0) return
      if (this.isReading()) set({ held: [...added, ...held], gap: gap || state.peek().gap })
      else if (shown.length + added.length > MAX_LIVE_ROWS) startFrom([...added, ...shown].slice(0, MAX_LIVE_ROWS / 2))
      else set({ rows: [...added, ...shown] })
    },

    /** Shows a row as it is now, where it stands. */
    update(changed: Row): void {
      const key = keyOf(changed)
      set({ rows: state.peek().rows.map((row) => (keyOf(row) === key ? changed : row)) })
    },

    showHeld() {
      const { rows, held, gap } = state.peek()
      set({ held: [], gap: false })
      if (gap) startFrom(held)
      else set({ rows: [...held, ...rows] })
    },
  }
}
