import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createOrderedAnswers } from '#src/lib/lines/ordered-answers.ts'

function make(write: (text: string) => boolean | Promise<boolean>, maxPlaces = 4, maxBytes = 1000) {
  let sum = 0
  const answers = createOrderedAnswers({
    maxPlaces,
    maxBytes,
    write,
    onBytes: (difference) => {
      sum += difference
    },
  })
  return { answers, sum: () => sum }
}

it('writes answers in the order of their places, whichever is ready first, and counts its bytes', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(20), { minLength: 1, maxLength: 20 }), fc.boolean(), async (order, slow) => {
      let written = ''
      const { answers, sum } = make((text) => {
        written += text
        return slow ? Promise.resolve(true) : true
      })
      const fills = order.map((_, index) => ({ index, fill: answers.add(10) }))
      expect(answers.bytes()).toBe(10 * order.length)
      for (const { index, fill } of fills.toSorted((a, b) => (order[a.index] ?? 0) - (order[b.index] ?? 0)))
        fill(`${index},`)
      await answers.written()
      expect(written).toBe(order.map((_, index) => `${index},`).join(''))
      expect([answers.bytes(), sum()]).toEqual([0, 0])
    }),
  )
})

it('is full with so many places or bytes, until they are written', async () => {
  const room = Promise.withResolvers<boolean>()
  const { answers } = make(() => room.promise)
  const fills = Array.from({ length: 4 }, () => answers.add(1))
  expect(answers.isFull()).toBe(true)
  for (const fill of fills) fill('x')
  await answers.changed()
  expect(answers.isFull()).toBe(false)
  answers.add(1)('y'.repeat(2000))
  expect(answers.isFull()).toBe(true)
  room.resolve(true)
  await answers.written()
  expect([answers.isFull(), answers.bytes()]).toEqual([false, 0])
})

it('counts what was written until it has been read', async () => {
  const room = Promise.withResolvers<boolean>()
  const { answers, sum } = make(() => room.promise)
  answers.add(1)('y'.repeat(2000))
  await answers.changed()
  expect([answers.isFull(), answers.bytes(), sum()]).toEqual([true, 2000, 2000])
  room.resolve(true)
  await answers.written()
  expect([answers.isFull(), answers.bytes(), sum()]).toEqual([false, 0, 0])
})

it('drops what is left when nobody reads any more', async () => {
  const { answers, sum } = make(() => false)
  const [one, other] = [answers.add(5), answers.add(5)]
  one('x')
  await answers.written()
  other('y')
  answers.add(5)('z')
  expect([answers.isFull(), answers.bytes(), sum()]).toEqual([false, 0, 0])
})
