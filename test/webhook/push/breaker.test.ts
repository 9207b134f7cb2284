import { describe, expect, it } from 'vitest'
import { afterFailure, createBreaker } from '#src/webhook/push/breaker.ts'
import { waiting } from '../../support/webhooks/webhook-rows.ts'
import { failure, START } from './queue-model.ts'

const SECOND = 1000
const MINUTE = 60_000
const HOUR = 3_600_000

/** How long a delivery waits that has failed so often, this time with this status. */
const pauseAfter = (failures: number, status: number | null, fraction: number, retryAfter: number | null = null) => {
  const row = failures === 1 ? undefined : waiting(1, { failures: failures - 1, firstFailedAt: START })
  const after = afterFailure({ position: 1, lane: -1, row }, failure(status, retryAfter), null, START, () => fraction)
  return after.row.nextAt - START
}

describe('a delivery that failed', () => {
  it.each([
    [500, HOUR],
    [null, 5 * MINUTE],
    [503, 5 * MINUTE],
  ])('with %s waits a second, then twice as long each time, up to %i ms, give or take a fifth', (status, most) => {
    for (let failures = 1; failures < 40; failures++) {
      const pause = Math.min(SECOND * 2 ** (failures - 1), most)
      const [least, middle, longest] = [0, 0.5, 1].map((fraction) => pauseAfter(failures, status, fraction))
      expect([failures, middle]).toEqual([failures, pause])
      expect([failures, least]).toEqual([failures, Math.max(SECOND, 0.8 * pause)])
      expect([failures, longest]).toEqual([failures, Math.min(most, 1.2 * pause)])
    }
  })

  it('waits for as long as Retry-After says if that is longer, and an hour at most', () => {
    for (const status of [500, 503]) {
      expect(pauseAfter(1, status, 0.5, 20 * SECOND)).toBe(20 * SECOND)
      expect(pauseAfter(6, status, 0.5, 20 * SECOND)).toBe(32 * SECOND)
      expect(pauseAfter(1, status, 0.5, 5 * HOUR)).toBe(HOUR)
    }
  })

  it.each([
    ['an answer', 500, 44 * SECOND, 60 * SECOND],
    ['an answer', 500, 45 * SECOND, 61 * SECOND],
    ['an answer', 500, 46 * SECOND, 61 * SECOND],
    ['no answer, which takes 15 s to be sure of', null, 29 * SECOND, 45 * SECOND],
    ['no answer, which takes 15 s to be sure of', null, 31 * SECOND, 61 * SECOND],
  ])('after %s (%s) is tried a last time when the time to give up is over, not shortly before', (...row) => {
    const [, status, at, next] = row
    const kept = waiting(1, { failures: 4, firstFailedAt: START })
    const entry = { position: 1, lane: -1, row: kept }
    // The pause is 16 seconds.
    const after = afterFailure(entry, failure(status), 61 * SECOND, START + at, () => 0.5)
    expect([after.row.nextAt - START, after.isOver]).toEqual([next, false])
    expect(afterFailure(entry, failure(status), 61 * SECOND, START + 61 * SECOND, () => 0.5).isOver).toBe(true)
  })
})

describe('an endpoint', () => {
  const at = (monotonic: number) => ({ wall: START + monotonic, monotonic })
  const middle = (): number => 0.5

  it('is silent once deliveries of eight orders got no answer, with no answer in between', () => {
    const breaker = createBreaker(middle, false)
    const fail = (...lanes: readonly number[]) => {
      for (const lane of lanes) breaker.silent(lane, at(0), false)
      return breaker.isOpen()
    }
    expect(fail(1, 2, 3, 4, 5, 6, 7)).toBe(false)
    expect(fail(7, 1, 2)).toBe(false)
    expect(breaker.answered()).toBe(false)
    expect(fail(8, 9, 10, 11, 12, 13, 14)).toBe(false)
    expect(fail(15)).toBe(true)
    expect(breaker.probeAt()).toBe(SECOND)
    expect([breaker.answered(), breaker.isOpen(), breaker.probeAt()]).toEqual([true, false, 0])
  })

  it('that is silent is tried after pauses that double up to five minutes, whatever else ends meanwhile', () => {
    const breaker = createBreaker(middle, false)
    for (let lane = 0; lane < 8; lane++) breaker.silent(lane, at(0), false)
    for (let probes = 2; probes < 20; probes++) {
      const began = breaker.probeAt()
      breaker.silent(99, at(began), false)
      expect(breaker.probeAt()).toBe(began)
      breaker.silent(1, at(began), true)
      expect(breaker.probeAt() - began).toBe(Math.min(SECOND * 2 ** (probes - 1), 5 * MINUTE))
    }
  })
})
