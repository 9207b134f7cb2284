import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { namesTag, weakTag } from '#src/http/answers/read-answers.ts'
import { anyText } from '../../support/any-text.ts'

const TAG = 'W/"a,b"'

describe('an If-None-Match header', () => {
  it.each([
    '*',
    ' * ',
    'W/"a,b"',
    '"a,b"',
    '"x", W/"a,b"',
    ',, "x" ,\t"a,b" ,',
    'W/"x","a,b"',
    '"", "a,b"',
    '"a,b", and what is malformed',
  ])('%j names the tag', (header) => {
    expect(namesTag(header, TAG)).toBe(true)
  })

  it.each([
    undefined,
    '',
    ',',
    '"a"',
    '"b"',
    'a,b',
    '"a, b"',
    'w/"a,b"',
    'W/ "a,b"',
    '"A,B"',
    '"x" "a,b"',
    '"x, "a,b"',
    '"x"; "a,b"',
    '"x y", "a,b"',
    '"*"',
    '*, *',
    '"a,b',
    '"a,b" "c"',
  ])('%j does not', (header) => {
    expect(namesTag(header, TAG)).toBe(false)
  })

  const visible = Array.from({ length: 94 }, (_, index) => String.fromCharCode(0x21 + index)).filter((c) => c !== '"')
  const opaque = fc.string({ unit: fc.constantFrom(...visible), maxLength: 12 })
  const spaced = fc.constantFrom('', ' ', '\t', '  ')

  it('names exactly the tags that it lists, weak or strong', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(opaque, fc.boolean(), spaced, spaced)), opaque, (elements, tag) => {
        const header = elements
          .map(([text, weak, before, after]) => `${before}${weak ? 'W/' : ''}"${text}"${after}`)
          .join(',')
        expect(namesTag(header, `W/"${tag}"`), header).toBe(elements.some(([text]) => text === tag))
        for (const [text] of elements) expect(namesTag(header, `W/"${text}"`), header).toBe(true)
      }),
    )
  })

  it('may contain anything', () => {
    fc.assert(fc.property(anyText(), (header) => typeof namesTag(header, TAG) === 'boolean'))
    for (const part of ['"', ',', '"a",', ' ', '\t,', 'W/', 'W/"', '" '])
      expect(namesTag(part.repeat(16_000 / part.length), TAG)).toBe(false)
  })
})

describe('a tag', () => {
  it('depends on every byte, and on nothing else', () => {
    fc.assert(
      fc.property(fc.uint8Array(), fc.uint8Array(), (one, other) => {
        expect(weakTag(one) === weakTag(other)).toBe(Buffer.from(one).equals(other))
        expect(namesTag(weakTag(one), weakTag(one) ?? '')).toBe(true)
      }),
    )
    expect(weakTag('ü')).toBe(weakTag(Buffer.from('ü')))
  })

  it('is not made for more than a MiB', () => {
    expect(weakTag(Buffer.alloc(1024 * 1024))).toMatch(/^W\/"[\w-]{22}"$/)
    expect(weakTag(Buffer.alloc(1024 * 1024 + 1))).toBeUndefined()
  })
})
