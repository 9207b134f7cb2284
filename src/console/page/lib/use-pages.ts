import { effect } from '@preact/signals'
import { useEffect, useMemo, useRef } from 'preact/hooks'
import { get } from './api.ts'
import { createPages, type Left, type Page, type Pages, type Place } from './pages.ts'
import { entry, type Parameters, round } from './route.ts'
import { me } from './session.ts'

/** `usePages((place) => ..., [query], keyOf)` begins a new list whenever its inputs change. */
export function usePages<Row, Cursor = string>(
  load: (place: Place<Row, Cursor>) => Promise<Page<Row, Cursor>>,
  inputs: readonly unknown[],
  keyOf: (row: Row) => string,
): Pages<Row, Cursor> {
  const latest = useRef(load)
  latest.current = load
  const pages = useMemo(() => {
    const place = `${entry()} ${round.value} ${JSON.stringify(inputs)}`
    // The same entry with the same inputs has had the same kind of rows.
    const left = kept.get(place) as Left<Row, Cursor> | undefined
    const made = createPages((at) => latest.current(at), keyOf, left)
    return Object.assign(made, { place })
  }, [JSON.stringify(inputs)])
  useEffect(() => {
    if (!pages.restored) void pages.more()
    return () => {
      pages.leave()
      keep(pages)
    }
  }, [pages])
  return pages
}

/** Lists that were left, by their entry of the browser's history: coming back shows the same rows at the same place. */
const kept = new Map<string, Left<unknown, unknown>>()
const MAX_KEPT = 5

function keep<Row, Cursor>({ place, state, top, height }: Pages<Row, Cursor> & { readonly place: string }): void {
  const { rows, held, next, scanned, before, gap } = state.peek()
  if (me.peek() === undefined || rows.length === 0 || next === undefined) return
  kept.delete(place)
  kept.set(place, { rows, held, next, scanned, before, gap, top, height })
  for (const oldest of kept.keys()) if (kept.size > MAX_KEPT) kept.delete(oldest)
}

/** After a change, lists are read again. */
export const forgetPages = (): void => kept.clear()

// Nor does anybody see what somebody else has read.
effect(() => {
  if (me.value === undefined) forgetPages()
})

/** How many rows are read at once. */
const PAGE_ROWS = 100

type Answer<Noun extends string, Row> = { readonly [Key in Noun]: readonly Row[] } & {
  readonly NextCursor: string | null
  readonly Scanned?: NonNullable<Page<Row>['scanned']>
}

/** Reads a page of a route, whose rows are called `noun`. */
export async function readPage<Row, Noun extends string = string>(
  path: string,
  noun: Noun,
  query: Parameters,
  { cursor, signal }: Pick<Place<unknown>, 'cursor' | 'signal'> = {},
): Promise<Page<Row>> {
  const data = await get<Answer<Noun, Row>>(path, { ...query, limit: PAGE_ROWS, cursor }, signal)
  return { rows: data[noun], next: data.NextCursor, scanned: data.Scanned }
}
