import { describe, expect, it } from 'vitest'
import { table } from '#src/cli/output/table.ts'

const ID = '019f6a21-1b2c-7000-8000-0123456789ab'
const heading = ['time', 'order', 'customer', 'receipt']
const rows = [['2026-11-20 12:00:00', 'PO-1', 'shop@example.com', ID]]

describe('a table', () => {
  it('has one line for each row where it fits', () => {
    expect(table(heading, rows, 82).split('\n')).toEqual([
      'time                 order  customer          receipt',
      `2026-11-20 12:00:00  PO-1   shop@example.com  ${ID}`,
    ])
    expect(table(heading, rows)).toBe(table(heading, rows, 82))
  })

  it('continues in indented lines where it does not fit, and cuts nothing off', () => {
    expect(table(heading, rows, 81).split('\n')).toEqual([
      'time                 order  customer',
      '  receipt',
      '2026-11-20 12:00:00  PO-1   shop@example.com',
      `  ${ID}`,
    ])
    expect(table(heading, rows, 30).split('\n')).toEqual([
      'time                 order',
      '  customer',
      '  receipt',
      '2026-11-20 12:00:00  PO-1',
      '  shop@example.com',
      `  ${ID}`,
    ])
  })

  it('has no empty line where a row has nothing for an indented one', () => {
    const wide = 'x'.repeat(20)
    expect(
      table(
        ['a', 'b', 'c'],
        [
          ['1', '', 'end'],
          ['2', wide, ''],
        ],
        22,
      ).split('\n'),
    ).toEqual(['a', '  b', '  c', '1', '  end', '2', `  ${wide}`])
  })

  it('puts the last column of every row below if its heading does not fit beside', () => {
    expect(table(['order', 'delivers'], [['PO-1', '*']], 10).split('\n')).toEqual([
      'order',
      '  delivers',
      'PO-1',
      '  *',
    ])
  })

  it('wraps the last column at words', () => {
    const text = 'product X-1 is not among the authority rules of the customer'
    expect(table(['status', 'found'], [['failed', text]], 50).split('\n')).toEqual([
      'status  found',
      'failed  product X-1 is not among the authority',
      '        rules of the customer',
    ])
    expect(table(['a setting with a long name', 'value'], [['NAME', text]], 40).split('\n')).toEqual([
      'a setting with a long name',
      '  value',
      'NAME',
      '  product X-1 is not among the authority',
      '  rules of the customer',
    ])
  })

  it('leaves a value without spaces whole, on a line of its own', () => {
    const value = '/ProductID,/ProductCode,/Products/*/ProductID'
    const settings = [
      ['PORT', 'default', '3000'],
      ['POINTERS', 'default', value],
    ]
    expect(table(['setting', 'source', 'value'], settings, 40).split('\n')).toEqual([
      'setting   source   value',
      'PORT      default  3000',
      'POINTERS  default',
      `  ${value}`,
    ])
  })
})
