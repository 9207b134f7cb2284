import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createBatcher, type Sequence } from '#src/lib/batcher.ts'
import { runs } from '../support/random-runs.ts'

interface Item {
  readonly sequence: number
  readonly bytes: number
}

const MEBIBYTE = 2 ** 20
const LIMITS = { maxItems: 60, maxBytes: 8 * MEBIBYTE, maxWaitMilliseconds: 1000 }

/** A batcher whose commits end, and whose time goes on, when the test says so. */
function controlled() {
  let now = 0
  const commits: { batch: readonly Item[]; end: PromiseWithResolvers<readonly string[]> }[] = []
  const { submit, drained, load } = createBatcher<Item, string>({
    ...LIMITS,
    bytesOf: ({ bytes }) => bytes,
    whenFull: () => new Error('full'),
    monotonic: () => now,
    commit(batch) {
      const end = Promise.withResolvers<readonly string[]>()
      commits.push({ batch, end })
      return end.promise
    },
  })
  const sequences: Sequence[] = Array.from({ length: 4 }, () => ({ isUnderWay: false, failure: undefined }))
  const outcomes: { readonly sequence: number; outcome?: string }[] = []
  return {
    commits,
    outcomes,
    drained,
    load,
    submit(item: Item): void {
      const entry: (typeof outcomes)[number] = { sequence: item.sequence }
      outcomes.push(entry)
      // The last one is none: its items are independent.
      submit(item, sequences[item.sequence]).then(
        () => {
          entry.outcome = 'stored'
        },
        (error: Error) => {
          entry.outcome = error.message
        },
      )
    },
    pass(milliseconds: number): void {
      now += milliseconds
    },
    async end(place: number, fails: boolean): Promise<void> {
      const [commit] = commits.splice(place, 1)
      if (fails) commit?.end.reject(new Error('lost'))
      else commit?.end.resolve(commit.batch.map(() => 'stored'))
      for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate)
    },
  }
}

const NONE = 4
const items = fc.array(
  fc.record({ sequence: fc.nat(NONE), bytes: fc.constantFrom(100, 100, 100, 100, 100, 100, 1.5 * MEBIBYTE) }),
  { minLength: 1, maxLength: 40 },
)
const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: items.map((all) => ({ all })) },
    { weight: 3, arbitrary: fc.record({ place: fc.nat(1), fails: fc.boolean() }) },
    { weight: 1, arbitrary: fc.record({ milliseconds: fc.nat(700) }) },
  ),
  { minLength: 2, maxLength: 30 },
)

it('whatever fails, no item is committed after an earlier one of its sequence was rejected, and none waits for ever', async () => {
  const seen = new Set<string>()
  await fc.assert(
    fc.asyncProperty(steps, async (drawn) => {
      const { submit, end, pass, commits, outcomes, drained, load } = controlled()
      for (const step of drawn) {
        if ('all' in step) for (const item of step.all) submit(item)
        else if ('place' in step) await end(step.place, step.fails)
        else pass(step.milliseconds)
        const underWay = commits.map(({ batch }) => new Set(batch.map(({ sequence }) => sequence)))
        for (const sequence of underWay[0] ?? [])
          if (sequence !== NONE) expect(underWay[1]?.has(sequence)).not.toBe(true)
      }
      await end(0, false)
      while (commits.length > 0) await end(0, false)
      await drained()
      expect([load.items(), load.bytes()]).toEqual([0, 0])
      for (let sequence = 0; sequence < NONE; sequence++) {
        const all = outcomes.flatMap((each) => (each.sequence === sequence ? [each.outcome] : []))
        const failed = all.findIndex((outcome) => outcome !== 'stored')
        if (failed < 0) continue
        expect(all.slice(failed)).not.toContain('stored')
        if (all.length > failed + 1) seen.add(`${all[failed]} after ${Math.min(failed, 1)}`)
      }
      expect(outcomes.map(({ outcome }) => outcome)).not.toContain(undefined)
    }),
    { numRuns: runs(150) },
  )
  expect([...seen].sort()).toEqual(['full after 0', 'full after 1', 'lost after 0', 'lost after 1'])
})

it('items of one sequence share a batch, and wait only for a commit that has some of them', async () => {
  const { submit, end, commits } = controlled()
  const some = (sequence: number, count: number): void => {
    for (let index = 0; index < count; index++) submit({ sequence, bytes: 100 })
  }
  const sizes = () => commits.map(({ batch }) => batch.map(({ sequence }) => sequence))
  some(0, 24)
  some(1, 24)
  expect(sizes()).toEqual([Array(24).fill(0), Array(24).fill(1)])
  some(0, 2)
  some(2, 24)
  await end(1, false)
  expect(sizes()).toEqual([Array(24).fill(0)])
  await end(0, false)
  expect(sizes()).toEqual([[0, 0, ...Array(24).fill(2)]])
})
