import fc from 'fast-check'
import { expect, it } from 'vitest'
import { newId } from '#src/lib/ids.ts'
import { randomText, systemRandom } from '#src/lib/random.ts'

it('makes version 7 UUIDs that sort by the time they were made', () => {
  const time = fc.integer({ min: 0, max: 2 ** 48 - 1 })
  fc.assert(
    fc.property(time, time, (first, second) => {
      const [one, two] = [newId(first, systemRandom), newId(second, systemRandom)]
      expect(one).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      if (first !== second) expect(one < two).toBe(first < second)
    }),
  )
})

it('makes random text of letters and digits, each as likely as the other', () => {
  const text = randomText(62_000, systemRandom)
  expect(text).toMatch(/^[0-9A-Za-z]{62000}$/)
  const counts = Map.groupBy(text, (letter) => letter)
  expect(counts.size).toBe(62)
  // 1000 expected each, standard deviation 31: eight of them off is a bias and not chance.
  for (const letters of counts.values()) expect(Math.abs(letters.length - 1000)).toBeLessThan(250)
})
