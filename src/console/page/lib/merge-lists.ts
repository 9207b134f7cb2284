/** Makes one list of several, newest first, for `createPages`: a row waits until no newer one can come from another list. */
export const mergeLists = (readers, timeOf) => {
  const byFirst = (one, other) => (timeOf(one.rows[0]) < timeOf(other.rows[0]) ? 1 : -1)

  return async ({ cursor: place, signal } = {}) => {
    const lists = await Promise.all(
      readers.map(async (read, index) => {
        const { rows, next } = place?.[index] ?? { rows: [] }
        return rows.length > 0 || next === null ? { rows: [...rows], next } : read({ cursor: next, signal })
      }),
    )
    const rows = []
    while (lists.every((list) => list.rows.length > 0 || list.next === null)) {
      const [newest] = lists.filter((list) => list.rows.length > 0).sort(byFirst)
      if (newest === undefined) return { rows, next: null }
      rows.push(newest.rows.shift())
    }
    return { rows, next: lists }
  }
}
