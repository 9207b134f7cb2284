import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { preferredCoding } from '#src/http/answers/accept.ts'
import { anyText } from '../../support/any-text.ts'

const PLAIN = { coding: undefined, refusesPlain: false }

describe('an Accept-Encoding header', () => {
  it.each([
    undefined,
    '',
    ' ',
    ',,',
    'identity',
    'deflate, zstd, compress',
    'gzip;q=0',
    'gzip;q=0, br;q=0.000',
    '*;q=0',
    'identity;q=0',
    'gzip;q=0.5, identity',
    'gzip;q=0.2, br;q=0.1, identity;q=0.3',
    'gzipped, x-br, bro',
    'x;gzip',
    '"gzip"',
    'gzip;q=-1',
  ])('%j asks for a plain answer', (header) => {
    expect(preferredCoding(header)).toEqual(PLAIN)
  })

  it.each([
    ['gzip', 'gzip'],
    ['GZip', 'gzip'],
    ['x-gzip', 'gzip'],
    ['gzip, deflate', 'gzip'],
    ['gzip, deflate, br, zstd', 'br'],
    ['deflate, gzip;q=1.0, *;q=0.5', 'gzip'],
    ['br;q=0.5, gzip;q=0.6', 'gzip'],
    ['br;q=0, *', 'gzip'],
    ['gzip;q=0, *;q=0.1', 'br'],
    ['*', 'br'],
    ['identity, gzip', 'gzip'],
    [' gzip ; q=0.001 ', 'gzip'],
    ['gzip;Q=0.9,\tbr;q=0.8', 'gzip'],
    ['gzip;q=0, gzip', 'gzip'],
  ])('%j asks for %s', (header, coding) => {
    expect(preferredCoding(header)).toEqual({ coding, refusesPlain: false })
  })

  it.each([
    ['identity;q=0, gzip', 'gzip'],
    ['br, *;q=0', 'br'],
    ['identity;q=0, *;q=0.5', 'br'],
  ])('%j refuses a plain answer', (header, coding) => {
    expect(preferredCoding(header)).toEqual({ coding, refusesPlain: true })
  })

  it('of more than a thousand characters counts as not sent', () => {
    const header = `gzip${', x;q=0.1'.repeat(125)}`
    expect(preferredCoding(header)).toEqual(PLAIN)
    expect(preferredCoding(header.slice(0, 1000))).toEqual({ coding: 'gzip', refusesPlain: false })
  })

  const NAMES = ['br', 'gzip', 'identity', '*', 'deflate'] as const
  const element = fc.record({
    name: fc.constantFrom(...NAMES),
    thousandths: fc.option(fc.integer({ min: 0, max: 1000 }), { nil: undefined }),
    space: fc.constantFrom('', ' ', '\t '),
    upper: fc.boolean(),
  })

  it('never gives a coding that it refuses, nor one that it wants less than another', () => {
    fc.assert(
      fc.property(fc.uniqueArray(element, { selector: ({ name }) => name }), (elements) => {
        const header = elements
          .map(({ name, thousandths, space, upper }) => {
            const weight = thousandths === undefined ? '' : `${space};${space}q=${(thousandths / 1000).toFixed(3)}`
            return `${space}${upper ? name.toUpperCase() : name}${weight}${space}`
          })
          .join(',')
        const weightOf = (name: string): number | undefined => {
          const found = elements.find((one) => one.name === name) ?? elements.find((one) => one.name === '*')
          return found && (found.thousandths ?? 1000)
        }
        const { coding, refusesPlain } = preferredCoding(header)
        const best = Math.max(weightOf('br') ?? 0, weightOf('gzip') ?? 0)
        const plain = weightOf('identity')
        expect(coding !== undefined, header).toBe(best > 0 && (plain === undefined || plain <= best))
        if (coding !== undefined) expect(weightOf(coding), header).toBe(best)
        expect(refusesPlain, header).toBe(coding !== undefined && plain === 0)
      }),
      { numRuns: 2000 },
    )
  })

  it('may contain anything', () => {
    fc.assert(
      fc.property(anyText(), (header) => {
        expect([undefined, 'br', 'gzip']).toContain(preferredCoding(header).coding)
      }),
    )
  })
})
