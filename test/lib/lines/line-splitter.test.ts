import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createLineSplitter } from '#src/lib/lines/line-splitter.ts'

const LIMIT = 12

/** What a reader of the whole text would say. */
function reference(text: string): [number, string | null][] {
  return text.split('\n').flatMap((line, index): [number, string | null][] => {
    if (Buffer.byteLength(line) > LIMIT) return [[index + 1, null]]
    const kept = (index === 0 ? line.replace(/^\ufeff/, '') : line).replace(/\r$/, '')
    return /^[ \t\r]*$/.test(kept) ? [] : [[index + 1, kept]]
  })
}

const texts = fc.string({ unit: fc.constantFrom('a', 'ü', ' ', '\t', '\r', '\n', '\n', '\ufeff'), maxLength: 80 })

it('splits a text into the same lines, in whatever pieces it comes', () => {
  fc.assert(
    fc.property(texts, fc.array(fc.nat(200)), (text, cuts) => {
      const bytes = Buffer.from(text)
      const splitter = createLineSplitter(LIMIT)
      const places = [0, ...cuts.filter((cut) => cut < bytes.length).toSorted((a, b) => a - b), bytes.length]
      const pieces = places.slice(1).map((end, index) => Buffer.from(bytes.subarray(places[index], end)))
      const found: [number, string | null][] = []
      for (const piece of pieces) {
        for (const { number, bytes: line } of splitter.take(piece)) found.push([number, line?.toString() ?? null])
        expect(splitter.pending()).toBeLessThanOrEqual(LIMIT)
      }
      for (const { number, bytes: line } of splitter.rest()) found.push([number, line?.toString() ?? null])
      expect(found).toEqual(reference(text))
    }),
    { numRuns: 1000 },
  )
})

it('makes one line at a time, as short ones take a hundred times their bytes', () => {
  const piece = Buffer.from('a\n'.repeat(1000))
  const subarray = piece.subarray.bind(piece)
  let made = 0
  piece.subarray = (...places) => {
    made++
    return subarray(...places)
  }
  const [first] = createLineSplitter(LIMIT).take(piece)
  expect([first?.number, made]).toEqual([1, 1])
})
