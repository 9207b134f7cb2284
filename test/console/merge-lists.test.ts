import fc from 'fast-check'
import { expect, it } from 'vitest'

const { mergeLists } = await import(new URL('../../src/console/page/lib/merge-lists.ts', import.meta.url).href)

interface Row {
  readonly at: number
  readonly name: string
}
type Page = { rows: Row[]; next: number | null }

it('lists that are read page by page become one, newest first, with nothing missing or twice', async () => {
  const list = fc.record({
    times: fc.array(fc.nat(50), { maxLength: 30 }),
    sizes: fc.array(fc.nat(4), { minLength: 1, maxLength: 5 }),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(list, { minLength: 1, maxLength: 3 }), async (lists) => {
      const all = lists.map(({ times }, index) =>
        times.toSorted((one, other) => other - one).map((at, place): Row => ({ at, name: `${index} ${place}` })),
      )
      const readers = all.map((rows, index) => {
        let reads = 0
        return async ({ cursor = 0 }: { cursor?: number }): Promise<Page> => {
          const { sizes = [] } = lists[index] ?? {}
          // A page may be empty although more follow, but not all of them.
          const size = reads % 2 === 1 ? 2 : (sizes[reads % sizes.length] ?? 1)
          reads++
          const end = cursor + size
          return { rows: rows.slice(cursor, end), next: end < rows.length ? end : null }
        }
      })
      const read = mergeLists(readers, ({ at }: Row) => at)
      const found: Row[] = []
      for (let cursor: unknown; cursor !== null; ) {
        const kept = structuredClone(cursor)
        const page = await read({ cursor })
        // A page that is lost on its way is read again from the same place.
        expect(cursor).toEqual(kept)
        found.push(...page.rows)
        cursor = page.next
      }
      expect(found.map(({ at }) => at)).toEqual(found.map(({ at }) => at).toSorted((one, other) => other - one))
      expect(found).toHaveLength(all.flat().length)
      expect(new Set(found.map(({ name }) => name))).toEqual(new Set(all.flat().map(({ name }) => name)))
    }),
  )
})
