import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createPool, type HeldBody } from '#src/http/body/budget.ts'

const LIMIT = 1000
const PATIENCE = 2000

function newPool() {
  let now = 0
  const pool = createPool(LIMIT, { monotonic: () => now })
  const hold = (owner: string) => {
    const one = { owner, bytes: 0, gone: false, body: undefined as HeldBody | undefined }
    one.body = pool.hold(owner, () => Object.assign(one, { bytes: 0, gone: true }))
    return one
  }
  const grow = (one: ReturnType<typeof hold>, bytes: number): boolean => {
    const isTaken = one.body?.grow(bytes) === true
    Object.assign(one, isTaken ? { bytes: one.bytes + bytes } : { bytes: 0, gone: true })
    return isTaken
  }
  return {
    pool,
    hold,
    grow,
    pass: (milliseconds: number) => {
      now += milliseconds
    },
  }
}

describe('the room for bodies and answers', () => {
  it('is shared so that whoever comes finds some, however greedy the others are', () => {
    const { hold, grow } = newPool()
    const fill = (owner: string): number => {
      let bytes = 0
      while (grow(hold(owner), 10)) bytes += 10
      return bytes
    }
    expect([fill('a'), fill('b'), fill('c'), fill('d')]).toEqual([500, 250, 130, 60])
    expect(grow(hold('newcomer'), 30)).toBe(true)
    expect(grow(hold('a'), 10)).toBe(false)
  })

  it('holds a single body of any size', () => {
    const { hold, grow } = newPool()
    const large = hold('a')
    expect([grow(large, 900), grow(large, 5000), grow(hold('b'), 1)]).toEqual([true, true, false])
  })

  it('is taken from the slow bodies of those who hold more, and not from those who hold less', () => {
    const { hold, grow, pass } = newPool()
    const slow = hold('slow')
    grow(slow, 20)
    const greedy = [hold('greedy'), hold('greedy')]
    for (const one of greedy) grow(one, 240)
    expect(grow(hold('greedy'), 240)).toBe(false)
    pass(PATIENCE)
    const next = hold('greedy')
    expect(grow(next, 240)).toBe(true)
    expect([slow.gone, ...greedy.map(({ gone }) => gone)]).toEqual([false, true, false])
    expect(grow(hold('newcomer'), 300)).toBe(true)
    expect(slow.gone).toBe(false)
  })

  it('counts what is held and nothing else, in any order of events', () => {
    const owner = fc.constantFrom('a', 'b', 'c')
    const step = fc.oneof(
      fc.record({ what: fc.constant('begin' as const), owner }),
      fc.record({ what: fc.constant('grow' as const), which: fc.nat(9), bytes: fc.integer({ min: 1, max: 600 }) }),
      fc.record({ what: fc.constant('complete' as const), which: fc.nat(9) }),
      fc.record({ what: fc.constant('release' as const), which: fc.nat(9) }),
      fc.record({ what: fc.constant('pass' as const), milliseconds: fc.nat(3000) }),
    )
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const { pool, hold, grow, pass } = newPool()
        const all: ReturnType<typeof hold>[] = []
        const heldBy = (owner?: string) =>
          all.reduce((sum, one) => sum + (owner === undefined || one.owner === owner ? one.bytes : 0), 0)
        for (const step of steps) {
          if (step.what === 'begin') all.push(hold(step.owner))
          else if (step.what === 'pass') pass(step.milliseconds)
          else {
            const one = all[step.which]
            if (one === undefined || one.gone) continue
            const wasAlone = heldBy() === one.bytes
            if (step.what === 'release') {
              one.body?.release()
              Object.assign(one, { bytes: 0, gone: true })
            } else if (step.what === 'complete') one.body?.complete()
            else if (grow(one, step.bytes) && !wasAlone && heldBy() !== one.bytes)
              expect(heldBy()).toBeLessThanOrEqual(LIMIT)
          }
          for (const owner of ['a', 'b', 'c']) expect(pool.roomOf(owner)).toBe(LIMIT - heldBy() - heldBy(owner))
          expect(pool.roomOf('anybody') === pool.limit).toBe(heldBy() === 0)
        }
      }),
    )
  })
})
