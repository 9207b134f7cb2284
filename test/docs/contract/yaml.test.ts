import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { toYaml } from '#src/docs/contract/yaml.ts'
import { anyText } from '../../support/any-text.ts'

/** Texts that readers of YAML take for something else, unless they are quoted. */
const TRAPS =
  `y N yes NO on Off true False null ~ = << .inf -.Inf .nan 1 -1 +1 1_000 1,000 0x1F 0o17 0b11 017 1.5 .5 5. 1e3 1E-3 1.5e+3
12:30:45 190:20:30.15 2026-11-21 2026-11-21T08:37:25Z e1 1e - -- --- ... -x ? ?x : :x x: #x x# %x @x !x &x *x |x >x 'x "x , [ ] { } x,y
a:b /a/b ^\\d{4}$ {id} 0.1.0 3.1.0 203.0.113.7`.split(/\s+/)

const texts = fc.oneof(
  fc.constantFrom(
    ...TRAPS,
    '',
    ' ',
    ' x',
    'x ',
    'a: b',
    'a #b',
    '- x',
    '? x',
    ': x',
    'a\nb',
    'a\n',
    'a\n\n',
    '\na',
    ' a\nb',
    'a\n b',
    'a\tb',
  ),
  anyText(),
  fc.array(fc.constantFrom(...TRAPS), { maxLength: 60 }).map((words) => words.join(' ')),
  fc.array(fc.constantFrom(...TRAPS, ''), { maxLength: 5 }).map((lines) => lines.join('\n')),
)

const values = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'medium', withCrossShrink: true },
    texts,
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => (number === 0 ? 0 : number)),
    fc.constantFrom(true, false, null),
    fc.array(tie('value'), { maxLength: 6 }),
    fc.array(texts, { maxLength: 30 }),
    fc.dictionary(
      texts.filter((name) => name !== '__proto__'),
      tie('value'),
      { maxKeys: 6 },
    ),
  ),
})).value

describe('the YAML of the contract', () => {
  it.each(['1.1', '1.2'] as const)('is read back as the same value by version %s', (version) => {
    fc.assert(
      fc.property(values, (value) => {
        expect(parse(toYaml([value, { value }]), { version })).toEqual([value, { value }])
      }),
      { numRuns: 500 },
    )
  })

  it('has one line for what fits on it', () => {
    expect(toYaml({ a: [1, 'x'], b: { c: null }, d: `${'word '.repeat(30)}end`, e: 'two\nlines' })).toBe(
      `a: [ 1, x ]\nb: { c: null }\nd: ${'word '.repeat(24).trim()}\n  ${'word '.repeat(6)}end\ne: |-\n  two\n  lines\n`,
    )
  })
})
