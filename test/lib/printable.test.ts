import fc from 'fast-check'
import { expect, it } from 'vitest'
import { readName } from '#src/customer/words.ts'
import { escaped, hasHidden, printable } from '#src/lib/printable.ts'
import { anyText } from '../support/any-text.ts'

const HOSTILE = [
  ['an escape sequence', '\u001b[2J'],
  ['NUL', '\0'],
  ['DEL', '\u007f'],
  ['the 8-bit CSI', '\u009b2J'],
  ['a right-to-left override', '\u202e'],
  ['an isolate', '\u2066'],
  ['a space without width', '\u200b'],
  ['a joiner', '\u200d'],
  ['a byte order mark', '\ufeff'],
  ['a soft hyphen', '\u00ad'],
  ['a Hangul filler', '\u3164'],
  ['a variation selector', '\ufe0f'],
  ['a blank pattern of Braille', '\u2800'],
  ['a note without a head', '\u{1d159}'],
  ['a blank hieroglyph', '\u{13441}'],
  ['half a blank hieroglyph', '\u{13442}'],
  ['a Khitan filler', '\u{16fe4}'],
  ['a joiner of Tifinagh', '\u2d7f'],
  ['a joiner of Brahmi', '\u{1107f}'],
  ['a language tag', '\u{e0041}'],
  ['a line separator', '\u2028'],
  ['a lone surrogate', '\ud800'],
] as const

it.each(HOSTILE)('%s is hidden, and is shown neither raw nor as nothing', (_name, text) => {
  expect(hasHidden(`a${text}b`)).toBe(true)
  for (const shown of [printable(`a${text}b`), escaped(`a${text}b`)]) {
    expect(hasHidden(shown)).toBe(false)
    expect(shown.length).toBeGreaterThan(2)
  }
})

/** Letters, marks and symbols that leave no ink. */
const BLANK =
  '\u2800\u{1d159}\u{13441}\u{13442}\u{16fe4}\u2d7f\u{1107f}\u3164\u115f\u1160\uffa0\u180e\u180b\u034f\u17b4\u2061'

it('nobody has a name that looks empty, whatever blanks and spaces it is made of', () => {
  const blanks = fc.array(fc.constantFrom(...BLANK, ' ', '\u00a0', '\u3000', '\u2003', '\u1680'), { maxLength: 20 })
  fc.assert(
    fc.property(blanks, (characters) => {
      const name = characters.join('')
      const isSpace = name.trim() === ''
      expect(hasHidden(name)).toBe(!isSpace)
      if (isSpace) expect(readName(name)).toBe('')
      else expect(() => readName(name)).toThrow()
    }),
  )
})

it('visible text of any language is as it was', () => {
  for (const text of ['Ürün İşçiliği', 'заказ 7', '订单', 'طلب', 'order 🛒', 'a\u0301', '⠞⠑⠎⠇⠊⠍', '한국어']) {
    expect([hasHidden(text), printable(text), escaped(text)]).toEqual([false, text, text])
  }
})

it('escaped text keeps its lines, and escaped JSON its meaning, whatever it holds', () => {
  expect(escaped('a\n\tb\r\nc\rd')).toBe('a\n\tb\r\nc\\u000dd')
  const units = anyText()
  fc.assert(
    fc.property(fc.array(fc.oneof(units, fc.constantFrom(...HOSTILE.map(([, text]) => text)))), (texts) => {
      const json = escaped(JSON.stringify(texts, undefined, 2))
      expect(hasHidden(json.replaceAll('\n', ''))).toBe(false)
      expect(JSON.parse(json)).toEqual(texts)
    }),
  )
})
