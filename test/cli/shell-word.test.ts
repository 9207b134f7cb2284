import { execFileSync } from 'node:child_process'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { shellWord } from '#src/lib/printable.ts'
import { anyText } from '../support/any-text.ts'
import { runs } from '../support/random-runs.ts'

/** What a command line can hold at all: no NUL, no half of a character, no newline at the end. */
const word = fc
  .oneof(
    fc.string({ unit: 'grapheme' }),
    anyText(),
    fc.string({ unit: fc.constantFrom(...Array.from(`'"\\\`$(){}[]!*?~#&;|<>% \t\n\r\u001b\u009b\u202e-=a1`)) }),
  )
  .filter((text) => text.isWellFormed() && !/\0|\n$/.test(text))

it('a word that is quoted for a shell is the same word there, and shows no control character', () => {
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 60 }), (words) => {
      const command = words.map(shellWord).join(' ')
      expect(command).not.toMatch(/\p{C}/u)
      const out = execFileSync('sh', ['-c', `printf '%s\\0' ${command}`], { encoding: 'utf8' })
      expect(out.split('\0').slice(0, -1)).toEqual(words)
    }),
    { numRuns: runs(50) },
  )
})

it('a word without anything special is not quoted', () => {
  for (const plain of ['a@b.co', '--rate', '10.0.0.0/8,::1', 'PO-1', '1.5%']) expect(shellWord(plain)).toBe(plain)
  expect(shellWord('')).toBe("''")
})
