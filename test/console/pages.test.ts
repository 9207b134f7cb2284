import { describe, expect, it } from 'vitest'

const { createPages } = await import(new URL('../../src/console/page/lib/pages.ts', import.meta.url).href)

interface Place {
  readonly cursor: number | undefined
  readonly before: number | undefined
}

/** Rows are numbers, of which a page has ten; a cursor is the number of the next row. */
function listOf(newest: number) {
  const asked: Place[] = []
  const store = { newest }
  const pages = createPages(async ({ cursor, before }: Place) => {
    asked.push({ cursor, before })
    const from = cursor ?? before ?? store.newest
    const rows = Array.from({ length: Math.min(10, from) }, (_, i) => from - i)
    return { rows, next: from > 10 ? from - 10 : null }
  }, String)
  const state = () => pages.state.peek()
  const isWhole = () => state().rows.every((row: number, i: number, all: number[]) => i === 0 || all[i - 1] === row + 1)
  return { pages, store, asked, state, isWhole }
}

describe('the rows of a table', () => {
  it('are read page by page until there are enough, and to the end', async () => {
    const { pages, state, isWhole } = listOf(45)
    await pages.more()
    expect([state().rows.length, state().next, state().announced]).toEqual([30, 15, 30])
    await pages.more()
    await pages.more()
    expect([state().rows.length, state().next, isWhole()]).toEqual([45, null, true])
  })

  it('are each shown once, in order, although new ones arrive before the first page was read', async () => {
    const { pages, store, state, isWhole } = listOf(30)
    const reading = pages.more()
    store.newest = 33
    pages.arrive([31])
    await reading
    pages.arrive([33, 32, 31])
    expect([state().rows[0], state().rows.length, isWhole()]).toEqual([33, 33, true])
  })

  it('on a first page that is newer than what arrived stand above it', async () => {
    const { pages, state, isWhole } = listOf(35)
    pages.arrive([31])
    await pages.more()
    expect([state().rows[0], isWhole()]).toEqual([35, true])
  })

  it('wait while somebody reads', async () => {
    const { pages, state, isWhole } = listOf(30)
    await pages.more()
    pages.isReading = () => true
    pages.arrive([31])
    pages.arrive([33, 32])
    pages.arrive([33])
    expect([state().rows[0], state().held]).toEqual([30, [33, 32, 31]])
    pages.showHeld()
    expect([state().rows[0], state().held, isWhole()]).toEqual([33, [], true])
  })

  it('after a gap begin again, and are read on from the last one that arrived', async () => {
    const { pages, store, state, asked, isWhole } = listOf(30)
    await pages.more()
    store.newest = 500
    pages.arrive([500, 499], { gap: true })
    expect(state().rows).toEqual([500, 499])
    await pages.more()
    expect(asked.at(3)).toEqual({ cursor: undefined, before: 499 })
    expect([state().rows.length > 25, isWhole()]).toEqual([true, true])
  })

  it('that were held over a gap begin again when they are shown', async () => {
    const { pages, store, state, isWhole } = listOf(30)
    await pages.more()
    pages.isReading = () => true
    store.newest = 500
    pages.arrive([500, 499], { gap: true })
    store.newest = 501
    pages.arrive([501])
    expect(state().rows[0]).toBe(30)
    pages.showHeld()
    await pages.more()
    expect([state().rows[0], isWhole()]).toEqual([501, true])
  })

  it('that arrive push out the oldest ones, which can be read again', async () => {
    const { pages, state, store, isWhole } = listOf(100)
    await pages.more()
    for (store.newest = 101; store.newest <= 10_100; store.newest++) pages.arrive([store.newest])
    expect(state().rows.length).toBeLessThanOrEqual(10_000)
    store.newest = 10_100
    await pages.more()
    expect([state().rows[0], isWhole()]).toEqual([10_100, true])
  })

  it('say what went wrong, and go on after it', async () => {
    const answers = [Promise.reject(new Error('no answer')), Promise.resolve({ rows: [1], next: null })]
    const pages = createPages(() => answers.shift(), String)
    await pages.more()
    expect(pages.state.peek()).toMatchObject({ rows: [], loading: false, error: { message: 'no answer' } })
    await pages.reload()
    expect(pages.state.peek()).toMatchObject({ rows: [1], loading: false, error: undefined, next: null })
  })
})
