import { effect, untracked } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { Frame } from '#src/console/live/live.schema.ts'
import { frame } from './live.ts'
import type { Page, Pages } from './pages.ts'
import { ApiError } from './request.ts'

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

/** A reading that was refused would be refused again. */
const mayPass = (error: unknown): boolean =>
  !(error instanceof ApiError) || error.status === 0 || error.status === 429 || error.status >= 500

/** Reads a first page when it is wanted, at most once a second, and again if it could not be read or shown for a moment. */
function createReader<Read>(readFirst: () => Promise<Read>, show: (page: Read) => void, mayShow = () => true) {
  let timer: ReturnType<typeof setTimeout> | undefined
  let isWanted = false
  let isReading = false
  let ended = false

  const run = async () => {
    if (!isWanted || isReading || ended || timer !== undefined || !mayShow()) return
    isWanted = false
    isReading = true
    timer = setTimeout(() => {
      timer = undefined
      void run()
    }, AGAIN_MILLISECONDS)
    const page = await readFirst().catch((error) => {
      isWanted = mayPass(error)
    })
    isReading = false
    if (ended || page === undefined) return
    if (mayShow()) show(page)
    else isWanted = true
  }

  return {
    want() {
      isWanted = true
    },
    run: () => void untracked(run),
    end() {
      ended = true
      clearTimeout(timer)
    },
  }
}

/** Lets a reader run with each frame, and calls `onNew` for those that bring something. */
function useFrames(
  pages: { readonly restored: boolean },
  begin: () => ReturnType<typeof createReader>,
  onNew: (frame: Frame, want: () => void) => void,
): void {
  useEffect(() => {
    const reader = begin()
    if (pages.restored) reader.want()
    const first = frame.peek()
    const stop = effect(() => {
      const now = frame.value
      // What had come before is in the first page, too.
      if (now && now !== first && (now.Newest.length > 0 || now.Skipped > 0)) onNew(now, reader.want)
      reader.run()
    })
    return () => {
      stop()
      reader.end()
    }
  }, [pages])
}

/**
 * Puts new deliveries on top of `pages`. `fits` says whether a delivery belongs to the list, or undefined if only the server
 * can say; then `readFirst` reads the newest page again.
 */
export function useLiveRows<Row>(pages: LiveList<Row>, { fits, readFirst }: Live<Row>): void {
  const begin = () =>
    createReader(readFirst, ({ rows, next }) => {
      const shown = pages.state.peek().rows
      const keys = new Set(shown.map(pages.keyOf))
      const gap = next !== null && shown.length > 0 && !rows.some((row) => keys.has(pages.keyOf(row)))
      pages.arrive(rows, { gap })
    })
  useFrames(pages, begin, ({ Newest: newest, Skipped: skipped, Since: since }, want) => {
    const unsure = newest.some((row) => fits(row) === undefined)
    const fitting = newest.filter(fits)
    if (!unsure && since === undefined && (skipped === 0 || fitting.length === newest.length))
      pages.arrive(fitting, { gap: skipped > 0 })
    else want()
  })
}

interface Fresh<Row, Cursor> {
  concerns(row: NewRow): boolean
  readFirst(): Promise<Page<Row, Cursor>>
}

/** Reads the first page of `pages` again when something came in that `concerns` them, while nobody reads. */
export function useFreshRows<Row, Cursor>(
  pages: Pages<Row, Cursor>,
  { concerns, readFirst }: Fresh<Row, Cursor>,
): void {
  const begin = () => createReader(readFirst, pages.replace, () => !pages.isReading())
  useFrames(pages, begin, ({ Newest, Skipped }, want) => {
    if (Skipped > 0 || Newest.some(concerns)) want()
  })
}
