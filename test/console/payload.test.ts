import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { anyText } from '../support/any-text.ts'

const library = async (name: string) =>
  import(new URL(`../../src/console/page/lib/payload/${name}.ts`, import.meta.url).href)
const { tokenize } = await library('json-tokens')
const { deliveredLines, formattedLines, formattedTexts, layOut, lineOf } = await library('payload-lines')
const { diffLines, withContext } = await library('diff')

interface Tokens {
  readonly kinds: readonly string[]
  readonly ends: readonly number[]
}

const texts = (text: string, { ends }: Tokens): string[] => ends.map((end, i) => text.slice(ends[i - 1] ?? 0, end))
const signs = fc.constantFrom(...'{}[],:"\\ \n\t\r01.eE+-trufalsn\u202e\u0000\u{1f600}\ud800\u00a0', '\\u0000', 'null')
const anyPayload = fc.oneof(
  anyText(),
  fc.array(signs, { maxLength: 60 }).map((all) => all.join('')),
  fc.json(),
  fc.json().map((text) => text.slice(1)),
  fc.jsonValue().map((value) => JSON.stringify(value, null, 3)),
)

describe('the tokens of a payload', () => {
  it('put together are the text, whatever it is', () => {
    fc.assert(
      fc.property(anyPayload, (text) => {
        const all = texts(text, tokenize(text))
        expect(all.join('')).toBe(text)
        expect(all).not.toContain('')
      }),
      { numRuns: 2000 },
    )
  })

  it('of JSON are all known, and its keys, strings and numbers are told apart', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify(value, null, 1)
        expect(tokenize(text).kinds).not.toContain('other')
      }),
    )
    const text = ' {"a" : -1.50e+9, "a":"x\\"y\\\\", "b":[true,null,01,"open\n'
    const { kinds, ends } = tokenize(text)
    const found = texts(text, { kinds, ends })
      .map((token, i) => [kinds[i], token])
      .filter(([kind]) => kind !== 'space' && kind !== 'sign')
    expect(found).toEqual([
      ['key', '"a"'],
      ['number', '-1.50e+9'],
      ['key', '"a"'],
      ['string', '"x\\"y\\\\"'],
      ['key', '"b"'],
      ['word', 'true'],
      ['word', 'null'],
      ['other', '01'],
      ['other', '"open'],
    ])
  })
})

const plainOf = (text: string, parts: { start: number; end: number; kind: string }[]): string =>
  parts.map(({ start, end, kind }) => (kind === 'gap' ? ' ' : text.slice(start, end))).join('')

describe('the rows of a payload', () => {
  it('as delivered put together are the text', () => {
    fc.assert(
      fc.property(anyPayload, fc.integer({ min: 16, max: 40 }), (text, columns) => {
        const lines = deliveredLines(text)
        const { rows, rowAt } = layOut({ text, tokens: tokenize(text), lines, folded: new Set(), columns })
        let all = ''
        for (let row = 0; row < rows; row++) {
          const { number, parts } = rowAt(row)
          all += (number > 1 ? '\n' : '') + plainOf(text, parts)
        }
        expect(all).toBe(text)
      }),
      { numRuns: 1000 },
    )
  })

  it('formatted are those of JSON.stringify', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        const text = JSON.stringify(value)
        const tokens = tokenize(text)
        const lines = formattedLines(text, tokens)
        expect(formattedTexts(text, tokens, lines).join('\n')).toBe(JSON.stringify(value, null, 2))
      }),
      { numRuns: 1000 },
    )
  })

  it('formatted lose nothing but white space, and each character is in the row where the search looks for it', () => {
    fc.assert(
      fc.property(anyPayload, fc.integer({ min: 16, max: 40 }), (text, columns) => {
        const tokens = tokenize(text)
        const lines = formattedLines(text, tokens)
        const { rows, rowAt, rowOf } = layOut({ text, tokens, lines, folded: new Set(), columns })
        let all = ''
        for (let row = 0; row < rows; row++) {
          for (const part of rowAt(row).parts) {
            if (part.kind === 'gap') continue
            all += text.slice(part.start, part.end)
            expect(rowOf(part.start)).toBe(row)
          }
        }
        const solid = texts(text, tokens).filter((_, i) => tokens.kinds[i] !== 'space')
        expect(all).toBe(solid.join(''))
      }),
      { numRuns: 1000 },
    )
  })

  it('leave out what is folded', () => {
    const text = '{"a":[1,2,{"b":3}],"c":4}'
    const tokens = tokenize(text)
    const lines = formattedLines(text, tokens)
    const shown = (folded: number[]): string[] => {
      const { rows, rowAt } = layOut({ text, tokens, lines, folded: new Set(folded), columns: 80 })
      return Array.from({ length: rows }, (_, row) => plainOf(text, rowAt(row).parts))
    }
    expect(shown([1])).toEqual(['{', '"a": [', '],', '"c": 4', '}'])
    expect(shown([0])).toEqual(['{', '}'])
    expect(lineOf(tokens, lines, text.indexOf('3'))).toBe(5)
  })

  it('of a megabyte are laid out, too', () => {
    const text = `[${'1,'.repeat(500_000)}1]`
    const tokens = tokenize(text)
    const lines = formattedLines(text, tokens)
    const { rows, rowAt } = layOut({ text, tokens, lines, folded: new Set(), columns: 80 })
    expect([rows, plainOf(text, rowAt(500_001).parts)]).toEqual([500_003, '1'])
  })
})

describe('the comparison of payloads', () => {
  const lines = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 30 })
  interface Line {
    readonly sign: string
    readonly text: string
  }

  it('leads from the one to the other', () => {
    fc.assert(
      fc.property(lines, lines, (before, after) => {
        const found: Line[] = diffLines(before, after)
        const without = (sign: string) => found.filter((line) => line.sign !== sign).map(({ text }) => text)
        expect([without('+'), without('-')]).toEqual([before, after])
      }),
      { numRuns: 2000 },
    )
  })

  it('is the shortest: one line more is one change', () => {
    const before = Array.from({ length: 50 }, (_, i) => `line ${i}`)
    const after = before.toSpliced(20, 0, 'new')
    const found: Line[] = withContext(diffLines(before, after))
    expect(found.map(({ sign }) => sign).join('')).toBe('…   +   …')
  })

  it('is given up if there is too much of it', () => {
    const many = (of: string) => Array.from({ length: 3000 }, (_, i) => `${of} ${i}`)
    expect(diffLines(many('a'), many('b'))).toBe(undefined)
    expect(diffLines(many('a'), many('a'))).toHaveLength(3000)
  })
})
