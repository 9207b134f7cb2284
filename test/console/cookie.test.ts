import fc from 'fast-check'
import { expect, it } from 'vitest'
import { cookiesNamed, isReference, LOCAL_COOKIE, newReference, SECURE_COOKIE } from '#src/console/session/cookie.ts'
import { systemRandom } from '#src/lib/random.ts'
import { anyText } from '../support/any-text.ts'

const names = fc.oneof(
  fc.constantFrom(SECURE_COOKIE, LOCAL_COOKIE, '__host-teslim', 'teslim', ' __Host-teslim', '__Host-teslim2', ''),
  fc.string({ unit: fc.constantFrom('a', '_', '-', ' ', '\t', '"', '%'), maxLength: 5 }),
  // What is white space to JavaScript, but part of a name to browsers, which then let any host set it.
  fc.constantFrom(0xa0, 0x85, 0x0b, 0x0c).chain((byte) => {
    const sent = Buffer.from([byte]).toString('latin1')
    return fc.constantFrom(sent + SECURE_COOKIE, SECURE_COOKIE + sent, `${sent} ${SECURE_COOKIE}`)
  }),
)
const values = fc.string({ unit: fc.constantFrom('A', '9', '_', '=', ' ', '"', ',', '%', '\u00ff'), maxLength: 6 })

it('a Cookie header has exactly the values that stand behind this name, whatever stands around them', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(names, values)), fc.constantFrom('; ', ';', ' ;\t'), (pairs, between) => {
      const header = pairs.map(([name, value]) => `${name}=${value}`).join(between)
      const expected = pairs
        .filter(([name]) => name.replace(/^[ \t]+/, '') === SECURE_COOKIE)
        .map(([, value]) => value.trim())
      // The blanks around a pair do not belong to it, those after the equals sign do.
      expect(cookiesNamed(header, SECURE_COOKIE).map((value) => value.trim())).toEqual(expected)
    }),
  )
})

it('any text whatsoever as a Cookie header gives values that a header can hold, and no error', () => {
  fc.assert(
    fc.property(anyText(), (header) => {
      for (const value of cookiesNamed(header, LOCAL_COOKIE)) {
        expect(header).toContain(`${LOCAL_COOKIE}=${value}`)
        expect(value).not.toContain(';')
      }
    }),
  )
  expect(cookiesNamed(undefined, SECURE_COOKIE)).toEqual([])
})

it('a reference is 32 random bytes in their one spelling, and nothing else is one', () => {
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (bytes) => {
      const reference = newReference(() => Buffer.from(bytes))
      expect(isReference(reference)).toBe(true)
      expect(Buffer.from(reference, 'base64url')).toEqual(Buffer.from(bytes))
    }),
  )
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('A', 'z', '0', '-', '_', '=', '+', '/', 'B'), size: 'large' }),
      (text) => {
        const bytes = Buffer.from(text, 'base64url')
        expect(isReference(text)).toBe(bytes.length === 32 && bytes.toString('base64url') === text)
      },
    ),
  )
  const references = Array.from({ length: 100 }, () => newReference(systemRandom))
  expect(new Set(references).size).toBe(100)
})
