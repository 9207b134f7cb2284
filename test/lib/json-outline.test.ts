import fc from 'fast-check'
import { expect, it } from 'vitest'
import { outlineJson } from '#src/lib/json-outline.ts'

const depthOf = (value: unknown): number =>
  typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0

it('finds every member of the outermost object, and the depth, for whatever JSON and white space', () => {
  const object = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue())
  fc.assert(
    fc.property(object, fc.constantFrom(undefined, 1, '\t', '\n\r'), (value, indent) => {
      const text = JSON.stringify(value, undefined, indent)
      const { members, depth } = outlineJson(text)
      const read = members.map(({ key, valueStart, valueEnd }) => [
        JSON.parse(`"${key}"`),
        JSON.parse(text.slice(valueStart, valueEnd)),
      ])
      expect(read).toEqual(Object.entries(JSON.parse(text)))
      expect(depth).toBe(depthOf(value))
    }),
  )
})

it('finds repeated keys, which JSON.parse hides', () => {
  const text = '{"a":1,"b":{"a":2},"a":[3,{"a":4}],"\\u0061":"\\"a\\":5,"}'
  const { members } = outlineJson(text)
  expect(members.map(({ key }) => key)).toEqual(['a', 'b', 'a', '\\u0061'])
  expect(members.map(({ valueStart, valueEnd }) => text.slice(valueStart, valueEnd))).toEqual([
    '1',
    '{"a":2}',
    '[3,{"a":4}]',
    '"\\"a\\":5,"',
  ])
})

it('ends on any text', () => {
  const odd = fc.string({ unit: fc.constantFrom('{', '}', '[', ']', '"', '\\', ':', ',', 'a', '1') })
  fc.assert(
    fc.property(odd, (text) => {
      expect(outlineJson(text).depth).toBeLessThanOrEqual(text.length)
    }),
  )
})
