import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createScanner } from '#src/lib/json/scan.ts'
import { fromByteText } from '#src/lib/text.ts'
import { anyText } from '../../support/any-text.ts'

const depthOf = (value: unknown): number =>
  typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0

/** Returns the values that a scanner finds; arrays and objects become 'container'. */
const find = (text: string, ...pointers: string[]): [string, unknown][] => {
  const scan = createScanner(
    pointers.map((pointer) => ({ pointer: pointer.replace('~any', ''), anyCase: pointer.endsWith('~any') })),
    1000,
  )
  const { text: byteText, found } = scan(Buffer.from(text))
  return found.map(({ pointer, start, end }) => [
    pointers[pointer] ?? '',
    end < 0 ? 'container' : JSON.parse(fromByteText(byteText.slice(start, end))),
  ])
}

it('finds the values of pointers and the depth in any JSON with any white space', () => {
  const name = fc.constantFrom('a', 'b', 'A', '__proto__', 'ä"\\', 'aa', '')
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 4 }, fc.jsonValue({ maxDepth: 0 }), tie('object'), tie('array')),
    object: fc.dictionary(name, tie('value')),
    array: fc.array(tie('value'), { maxLength: 4 }),
  }))
  /** The oracle: looks pointers up in what JSON.parse returns. */
  const lookUp = (from: unknown, parts: string[]): unknown[] => {
    const [part, ...rest] = parts
    if (part === undefined) return [typeof from === 'object' && from !== null ? 'container' : from]
    if (part === '*') return Array.isArray(from) ? from.flatMap((inner) => lookUp(inner, rest)) : []
    if (typeof from !== 'object' || from === null || Array.isArray(from) || !Object.hasOwn(from, part)) return []
    return lookUp((from as Record<string, unknown>)[part], rest)
  }
  const pointers = ['/a', '/b/a', '/a/*', '/a/*/b', '/*/a', '/A/__proto__', '/ä"\\', '/', '']
  fc.assert(
    fc.property(value, fc.constantFrom(undefined, 1, '\t', '\n\r'), (made, indent) => {
      const text = JSON.stringify(made, undefined, indent)
      const found = find(text, ...pointers)
      for (const pointer of pointers) {
        const expected = lookUp(JSON.parse(text), pointer.split('/').slice(1))
        expect(found.filter(([at]) => at === pointer).map(([, inner]) => inner)).toEqual(expected)
      }
      expect(createScanner([], 1000)(Buffer.from(text)).depth).toBe(depthOf(made))
    }),
    { numRuns: 500 },
  )
})

it('finds repeated fields, and fields in any letter case if asked to', () => {
  const text = '{"a":1,"b":{"a":2},"A" : [3,{"a":4}],"\\u0061":"\\"a\\":5,"}'
  expect(find(text, '/a')).toEqual([
    ['/a', 1],
    ['/a', '"a":5,'],
  ])
  expect(find(text, '/A~any').map(([, value]) => value)).toEqual([1, 'container', '"a":5,'])
  expect(find('{"\u212a":1,"k":2,"K":3}', '/k~any').map(([, value]) => value)).toEqual([2, 3])
})

it('reports the first 200 unknown fields of objects that pointers lead to', () => {
  const scan = createScanner([{ pointer: '/List/*/a', anyCase: true }], 64)
  const unknownIn = (text: string) => {
    const { text: byteText, unknown } = scan(Buffer.from(text))
    return unknown.map(({ path, start, end }) => [path, byteText.slice(start, end)])
  }
  expect(unknownIn('{"x":{"y":1},"LIST":[{"a":{"z":1},"b":[{"c":1}]},{"A":1,"d":1}]}')).toEqual([
    ['', 'x'],
    ['/list/*/a', 'z'],
    ['/list/*', 'b'],
    ['/list/*', 'd'],
  ])
  expect(unknownIn(`{${Array.from({ length: 300 }, (_, n) => `"n${n}":1`).join()}}`).at(-1)).toEqual(['', 'n199'])
})

it('reads ~1 and ~0 in a pointer', () => {
  expect(find('{"a/b":1,"m~n":2}', '/a~1b', '/m~0n')).toEqual([
    ['/a~1b', 1],
    ['/m~0n', 2],
  ])
})

it('stops at one level too many', () => {
  expect(createScanner([], 64)(Buffer.alloc(1_000_000, '[')).depth).toBe(65)
})

const parses = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
const judge = createScanner([{ pointer: '/a/*', anyCase: true }], 64)
const agrees = (text: string): void => {
  expect({ text, valid: judge(Buffer.from(text)).valid }).toEqual({ text, valid: parses(text) })
}

it('judges any text as JSON.parse does', () => {
  const pieces = [
    ...'{}[]":,\\ \t\n\v\0\u00a0\ufeff\u2028äa/bu019-+.eE',
    'true',
    'null',
    'false',
    '"a"',
    '\\u00e4',
    '1e1',
    '{}',
  ]
  const odd = fc.array(fc.constantFrom(...pieces), { maxLength: 12 }).map((parts) => parts.join(''))
  fc.assert(fc.property(odd, agrees), { numRuns: 20_000 })
})

it('judges JSON with one character more, fewer or other as JSON.parse does', () => {
  const character = fc.oneof(fc.constantFrom(...'{}[]":,\\ 0-1.eut'), anyText(0, 1))
  fc.assert(
    fc.property(fc.json(), fc.nat(), fc.nat(1), character, (json, at, fewer, other) => {
      const place = at % (json.length + 1)
      agrees(json)
      agrees(json.slice(0, place) + other.toWellFormed() + json.slice(place + fewer))
    }),
    { numRuns: 5_000 },
  )
})

it.each([
  '-',
  '-0',
  '01',
  '1.',
  '.5',
  '+1',
  '1e',
  '1e+',
  '1E-0',
  '-a',
  '0x1',
  '1_0',
  'tru',
  'truex',
  'nul',
  'False',
  'NaN',
  '"',
  '"\\"',
  '"\\x"',
  '"\\u12g4"',
  '"\\u123"',
  '"\\ud800"',
  '"\t"',
  '"\x7f"',
  "'a'",
  '',
  ' ',
  '\u00a01',
  '1\v',
  '1 1',
  '[,1]',
  '[1,]',
  '[1 2]',
  '[1:2]',
  '[}',
  '{]',
  '{,}',
  '{"a"}',
  '{"a":}',
  '{"a":1,}',
  '{"a":1 "b":2}',
  '{1:1}',
  '{"a"::1}',
  '{"a":1}}',
  '[]]',
  '[',
  '{"a":1',
  '[1]x',
  '/**/1',
  '{"a":1}\0',
])('judges %j as JSON.parse does', agrees)
