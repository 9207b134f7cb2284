import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CSV_SEPARATOR, csvLine, ndjsonLine } from '#src/lib/lines/exported.ts'
import { anyJsonValue, anyText } from '../../support/any-text.ts'
import { readCsv } from '../../support/app/csv.ts'

const SIGNS = ['=', '+', '-', '@', '\t', '\r', '\n', '\uff1d', '\uff0b', '\uff0d', '\uff20']
const tricky = fc
  .array(fc.oneof(fc.constantFrom(...SIGNS, ';', ',', '"', "'", ' ', 'a', '1', 'ş'), anyText(0, 3)), { maxLength: 12 })
  .map((parts) => parts.join(''))
const withoutApostrophes = (text: string) => text.replaceAll("'", '')

describe('CSV', () => {
  it('gives a reader the same cells, but for apostrophes', () => {
    const table = fc.array(fc.array(tricky, { minLength: 1, maxLength: 4 }), { maxLength: 4 })
    fc.assert(
      fc.property(table, (rows) => {
        const read = readCsv(rows.map(csvLine).join(''))
        expect(read.map((cells) => cells.map(withoutApostrophes))).toEqual(
          rows.map((cells) => cells.map(withoutApostrophes)),
        )
      }),
      { numRuns: 2000 },
    )
  })

  it('has no cell that begins a formula, nor a part of one between separators', () => {
    fc.assert(
      fc.property(tricky, (text) => {
        const [[cell = ''] = []] = readCsv(csvLine([text]))
        for (const part of [cell, ...cell.split(/[;,\t\r\n]/), ...cell.split(';'), ...cell.split('\t')])
          expect(SIGNS, JSON.stringify(cell)).not.toContain(part.replace(/^"+/, '').charAt(0))
      }),
      { numRuns: 5000 },
    )
  })

  it.each([
    ['=1+1', `"'=1+1"`],
    ['@SUM(1)', `"'@SUM(1)"`],
    ['\uff1d1', `"'\uff1d1"`],
    ['a;=1', `"a;'=1"`],
    ['a;"=1"', `"a;'""=1"""`],
    ['\t=1', `"'\t'=1"`],
    ['PO-1', '"PO-1"'],
    ['a - b', '"a - b"'],
    [-5, '"-5"'],
    [true, '"true"'],
    [null, '""'],
    [undefined, '""'],
    [['TR', 'DE'], '"[""TR"",""DE""]"'],
    [{ Live: 2 }, '"{""Live"":2}"'],
  ])('of %j is %s', (value, cell) => {
    expect(csvLine([value])).toBe(`${cell}\r\n`)
  })

  it('names its separator', () => {
    expect(CSV_SEPARATOR).toBe('sep=,\r\n')
  })
})

/** What some language or other takes for the end of a line. */
const BREAKS = /\r\n|[\n\v\f\r\u0085\u2028\u2029]/

describe('NDJSON', () => {
  it('is one line to every reader, and the same value', () => {
    const anything = fc.oneof(anyJsonValue(), fc.array(fc.constantFrom('\u2028', '\u2029', '\u0085', '\n', 'a')))
    fc.assert(
      fc.property(anything, fc.constantFrom(0, 2), (value, indent) => {
        const line = ndjsonLine(JSON.stringify(value, undefined, indent))
        expect(line.split(BREAKS)).toHaveLength(2)
        expect(JSON.parse(line)).toEqual(JSON.parse(JSON.stringify(value)))
      }),
      { numRuns: 2000 },
    )
  })
})
