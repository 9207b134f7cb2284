import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createScanner } from '#src/lib/json-scan.ts'

const depthOf = (value: unknown): number =>
  typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0

/** What a scanner finds, as values; containers are named only. */
const find = (text: string, ...pointers: string[]): [string, unknown][] => {
  const scan = createScanner(
    pointers.map((pointer) => ({ pointer: pointer.replace('~any', ''), anyCase: pointer.endsWith('~any') })),
    1000,
  )
  return scan(text).found.map(({ pointer, start, end }) => [
    pointers[pointer] ?? '',
    end < 0 ? 'container' : JSON.parse(text.slice(start, end)),
  ])
}

it('finds what a pointer leads to in whatever JSON and white space, and the depth', () => {
  const name = fc.constantFrom('a', 'b', 'A', '__proto__', 'ä"\\', 'aa')
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 4 }, fc.jsonValue({ maxDepth: 0 }), tie('object'), tie('array')),
    object: fc.dictionary(name, tie('value')),
    array: fc.array(tie('value'), { maxLength: 4 }),
  }))
  /** The same by way of JSON.parse: the oracle. */
  const lookUp = (from: unknown, parts: string[]): unknown[] => {
    const [part, ...rest] = parts
    if (part === undefined) return [typeof from === 'object' && from !== null ? 'container' : from]
    if (part === '*') return Array.isArray(from) ? from.flatMap((inner) => lookUp(inner, rest)) : []
    if (typeof from !== 'object' || from === null || Array.isArray(from) || !Object.hasOwn(from, part)) return []
    return lookUp((from as Record<string, unknown>)[part], rest)
  }
  const pointers = ['/a', '/b/a', '/a/*', '/a/*/b', '/*/a', '/A/__proto__', '/ä"\\', '']
  fc.assert(
    fc.property(value, fc.constantFrom(undefined, 1, '\t', '\n\r'), (made, indent) => {
      const text = JSON.stringify(made, undefined, indent)
      const found = find(text, ...pointers)
      for (const pointer of pointers) {
        const expected = lookUp(JSON.parse(text), pointer.split('/').slice(1))
        expect(found.filter(([at]) => at === pointer).map(([, inner]) => inner)).toEqual(expected)
      }
      expect(createScanner([], 1000)(text).depth).toBe(depthOf(made))
    }),
    { numRuns: 500 },
  )
})

it('finds repeated fields, in any case where that is asked for', () => {
  const text = '{"a":1,"b":{"a":2},"A" : [3,{"a":4}],"\\u0061":"\\"a\\":5,"}'
  expect(find(text, '/a')).toEqual([
    ['/a', 1],
    ['/a', '"a":5,'],
  ])
  expect(find(text, '/A~any').map(([, value]) => value)).toEqual([1, 'container', '"a":5,'])
  expect(find('{"\u212a":1,"k":2,"K":3}', '/k~any').map(([, value]) => value)).toEqual([2, 3])
})

it('reads ~1 and ~0 in a pointer', () => {
  expect(find('{"a/b":1,"m~n":2}', '/a~1b', '/m~0n')).toEqual([
    ['/a~1b', 1],
    ['/m~0n', 2],
  ])
})

it('stops when it is one too deep', () => {
  expect(createScanner([], 64)('['.repeat(1_000_000)).depth).toBe(65)
})

it('ends on any text', () => {
  const odd = fc.string({ unit: fc.constantFrom('{', '}', '[', ']', '"', '\\', ':', ',', 'a', '1') })
  fc.assert(
    fc.property(odd, (text) => {
      expect(createScanner([{ pointer: '/a/*', anyCase: true }], 64)(text).depth).toBeLessThanOrEqual(text.length)
    }),
  )
})
