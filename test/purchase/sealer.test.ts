import fc from 'fast-check'
import { expect, it } from 'vitest'
import { createSealer } from '#src/purchase/cursors.ts'
import { randomBytes } from '../support/random.ts'

const secret = randomBytes(32)
const { seal, open } = createSealer(secret)
const text = fc.string({ unit: 'grapheme' })

it('opens a sealed text for its purpose only, in any process that has the secret', () => {
  fc.assert(
    fc.property(text, text, text, (purpose, value, other) => {
      const sealed = seal(purpose, value)
      expect(sealed).toMatch(/^[A-Za-z0-9_-]{22,}$/)
      expect(createSealer(Buffer.from(secret)).open(purpose, sealed)).toBe(value)
      if (other !== purpose) expect(open(other, sealed)).toBeUndefined()
      expect(createSealer(randomBytes(32)).open(purpose, sealed)).toBeUndefined()
    }),
  )
})

it('seals equal values alike and shows nothing of them', () => {
  expect(seal('p', '123456')).toBe(seal('p', '123456'))
  expect(seal('p', '123456')).not.toBe(seal('q', '123456'))
  expect(Buffer.from(seal('p', '123456'), 'base64url').toString('latin1')).not.toContain('123456')
})

it('refuses a sealed text with any character changed, added or removed', () => {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_=+/ '
  for (const value of ['', '7', '42', '123']) {
    const sealed = seal('p', value)
    for (let place = 0; place <= sealed.length; place++) {
      const [before, after] = [sealed.slice(0, place), sealed.slice(place + 1)]
      if (place < sealed.length) expect(open('p', before + after)).toBeUndefined()
      for (const character of alphabet) {
        expect(open('p', before + character + sealed.slice(place))).toBeUndefined()
        if (character !== sealed[place] && place < sealed.length) {
          expect(open('p', before + character + after)).toBeUndefined()
        }
      }
    }
  }
  for (const odd of ['', 'x', '\u0141', '='.repeat(30)]) expect(open('p', odd)).toBeUndefined()
})
