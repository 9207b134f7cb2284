import fc from 'fast-check'
import { expect, it } from 'vitest'
import { readStatus } from '#src/purchase/delivery-body.ts'

it.each([
  ['0', 0],
  ['3', 3],
  ['1.0', 1],
  ['1e0', 1],
  ['1E+0', 1],
  ['20e-1', 2],
  ['0.3e1', 3],
  ['0.0003e4', 3],
  ['-0', 0],
  ['0e999999999999', 0],
  ['2.000000000000000000000', 2],
  ['4', undefined],
  ['4.0', undefined],
  ['40e-1', undefined],
  ['-1', undefined],
  ['1.5', undefined],
  ['3.0000000000000000001', undefined],
  ['0.9999999999999999999999', undefined],
  ['1e1', undefined],
  ['1e-400', undefined],
  ['1e400', undefined],
  ['"1"', undefined],
  ['""', undefined],
  ['true', undefined],
  ['null', undefined],
])('%s is read as %s', (token, status) => {
  expect(readStatus(token)).toBe(status)
})

it('agrees with exact arithmetic on every spelling of a number', () => {
  const digits = fc.stringMatching(/^\d{1,8}$/)
  const token = fc.record({
    sign: fc.constantFrom('', '-'),
    whole: fc.oneof(
      fc.constantFrom('0', '1', '2', '3', '30', '300'),
      digits.map((text) => String(Number(text))),
    ),
    fraction: fc.option(fc.oneof(digits, fc.constantFrom('0', '00', '01', '30')), { nil: undefined }),
    exponent: fc.option(fc.integer({ min: -9, max: 9 }), { nil: undefined }),
  })
  fc.assert(
    fc.property(token, ({ sign, whole, fraction = '', exponent = 0 }) => {
      const text = `${sign}${whole}${fraction && `.${fraction}`}${exponent === 0 ? '' : `e${exponent}`}`
      // The value times 10^20 as a whole number: exact.
      const scaled = BigInt(whole + fraction) * 10n ** BigInt(20 + exponent - fraction.length)
      const value = scaled % 10n ** 20n === 0n ? scaled / 10n ** 20n : -1n
      const expected = scaled === 0n ? 0 : sign === '' && value >= 1n && value <= 3n ? Number(value) : undefined
      expect(readStatus(text)).toBe(expected)
    }),
    { numRuns: 2000 },
  )
})
