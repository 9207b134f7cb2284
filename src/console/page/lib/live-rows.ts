import { effect, untracked } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Frame } from '#src/console/live/live.schema.ts'
import { frame } from './live.ts'
import type { Page, Pages } from './pages.ts'

/** A delivery as a frame has it. */
type NewRow = Frame['Newest'][number]

/** A list of `createPages`. Its rows may be other things, too. */
interface LiveList<Row> {
  readonly restored: boolean
  readonly state: { peek(): { readonly rows: readonly Row[] } }
  keyOf(row: Row): string
  arrive(rows: readonly (NewRow | Row)[], how: { readonly gap: boolean }): void
}

interface Live<Row> {
  /** Undefined if only the server can say. */
  fits(row: NewRow): boolean | undefined
  readFirst(): Promise<Pick<Page<Row, unknown>, 'rows' | 'next'>>
}

const AGAIN_MILLISECONDS = 1000

/**
 * Puts new deliveries on top of `pages`. `fits` says whether a delivery belongs to the list, or undefined if only the server
 * can say; then `readFirst` reads the newest page again, at most once a second.
 */
export function useLiveRows<Row>(pages: LiveList<Row>, { fits, readFirst }: Live<Row>): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    let ended = false
    let again = false

    const read = async () => {
      again = false
      timer = setTimeout(() => {
        timer = undefined
        if (again) void read()
      }, AGAIN_MILLISECONDS)
      const page = await readFirst().catch(() => undefined)
      if (ended || page === undefined) return
      const { rows } = pages.state.peek()
      const keys = new Set(rows.map(pages.keyOf))
      const gap = page.next !== null && rows.length > 0 && !page.rows.some((row) => keys.has(pages.keyOf(row)))
      pages.arrive(page.rows, { gap })
    }

    if (pages.restored) void read()
    const first = frame.peek()
    const stop = effect(() => {
      const { Newest: newest = [], Skipped: skipped = 0, Since: since } = frame.value ?? {}
      // What had come before is in the first page, too.
      if ((newest.length === 0 && skipped === 0) || frame.value === first) return
      const unsure = newest.some((row) => fits(row) === undefined)
      const fitting = newest.filter(fits)
      if (!unsure && since === undefined && (skipped === 0 || fitting.length === newest.length)) {
        return pages.arrive(fitting, { gap: skipped > 0 })
      }
      if (timer === undefined) void untracked(read)
      else again = true
    })
    return () => {
      ended = true
      clearTimeout(timer)
      stop()
    }
  }, [pages])
}

interface Fresh<Row, Cursor> {
  concerns(row: NewRow): boolean
  readFirst(): Promise<Page<Row, Cursor>>
}

/**
 * Reads the first page of `pages` again when something came in that `concerns` them: at most once a second, and while nobody reads.
 */
export function useFreshRows<Row, Cursor>(
  pages: Pages<Row, Cursor>,
  { concerns, readFirst }: Fresh<Row, Cursor>,
): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    let reading = false
    let ended = false
    let behind = pages.restored

    const refresh = async () => {
      if (!behind || reading || ended || timer !== undefined || pages.isReading()) return
      behind = false
      reading = true
      timer = setTimeout(() => {
        timer = undefined
        void refresh()
      }, AGAIN_MILLISECONDS)
      const page = await readFirst().catch(() => undefined)
      reading = false
      if (ended) return
      if (page === undefined || pages.isReading()) behind = true
      else pages.replace(page)
    }

    const first = frame.peek()
    const stop = effect(() => {
      const { Newest: newest = [], Skipped: skipped = 0 } = frame.value ?? {}
      if (frame.value !== first && (skipped > 0 || newest.some(concerns))) behind = true
      void untracked(refresh)
    })
    return () => {
      ended = true
      clearTimeout(timer)
      stop()
    }
  }, [pages])
}
