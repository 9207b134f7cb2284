import type { Page, Place } from './pages.ts'

/** How far each list has been read, and what was read of it and not returned yet. */
interface Read<Row, Cursor> {
  readonly rows: readonly Row[]
  /** Undefined at the beginning, null at the end. */
  readonly next: Cursor | null | undefined
}

/** Makes one list of several, newest first, for `createPages`: a row waits until no newer one can come from another list. */
export const mergeLists =
  <Row, Cursor = string>(
    readers: readonly ((place: Place<Row, Cursor>) => Promise<Page<Row, Cursor>>)[],
    timeOf: (row: Row) => string | number,
  ) =>
  async ({
    cursor,
    signal,
  }: Place<Row, readonly Read<Row, Cursor>[]> = {}): Promise<Page<Row, readonly Read<Row, Cursor>[]>> => {
    const lists = await Promise.all(
      readers.map(async (read, index) => {
        const { rows, next } = cursor?.[index] ?? { rows: [], next: undefined }
        const isEnough = rows.length > 0 || next === null
        const list = isEnough ? { rows, next } : await read({ cursor: next, ...(signal && { signal }) })
        return { rows: [...list.rows], next: list.next }
      }),
    )
    const merged: Row[] = []
    while (lists.every((list) => list.rows.length > 0 || list.next === null)) {
      const newest = lists.reduce((one, other) => (isNewer(other.rows[0], one.rows[0], timeOf) ? other : one))
      const row = newest.rows.shift()
      if (row === undefined) return { rows: merged, next: null }
      merged.push(row)
    }
    return { rows: merged, next: lists }
  }

function isNewer<Row>(row: Row | undefined, than: Row | undefined, timeOf: (row: Row) => string | number): boolean {
  return row !== undefined && (than === undefined || timeOf(row) > timeOf(than))
}
