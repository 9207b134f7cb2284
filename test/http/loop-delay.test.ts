import { expect, it } from 'vitest'
import { createLoopDelay } from '#src/http/connections/loop-delay.ts'

it('each reader gets the delays since it read before', () => {
  const delay = createLoopDelay()
  const [one, other] = [delay.reader(), delay.reader()]
  expect(one()).toBeUndefined()
  for (let milliseconds = 1; milliseconds <= 100; milliseconds++) delay.note(milliseconds)
  expect(one()).toEqual({
    p50: expect.closeTo(50, 0),
    p90: expect.closeTo(90, 0),
    p99: expect.closeTo(99, 0),
    max: expect.closeTo(100, 0),
  })
  delay.note(-3)
  expect([one()?.max, one()]).toEqual([0.001, undefined])
  expect(other()?.max).toBeCloseTo(100, 0)
})
