import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { importsOf } from './support/projects.ts'

const files = globSync('test/**/*.ts').filter((file) => file !== 'test/tests.test.ts')
const sources = new Map(files.map((file) => [file, readFileSync(file, 'utf8')]))
const filesWith = (pattern: RegExp): string[] => files.filter((file) => pattern.test(sources.get(file) ?? '')).sort()

describe('no test', () => {
  it('sleeps: until.ts waits for a condition, and has the only timer', () => {
    // A wait without a time limit blocks a thread until it is terminated.
    const timers =
      /\bsetTimeout\(|timers\/promises|Atomics\.wait\((?!new Int32Array\(new SharedArrayBuffer\(4\)\), 0, 0\))/
    expect(filesWith(timers)).toEqual(['test/support/until.ts'])
    // Clients that send a load, an endpoint that is slow, pauses of commands, and faults that are on for a while.
    expect(
      filesWith(/import \{ .*\bpace\b.* from/).filter((file) => !file.startsWith('test/e2e/faults/random/')),
    ).toEqual([
      'test/e2e/erase.test.ts',
      'test/e2e/faults/readiness.test.ts',
      'test/e2e/ha/readers.ts',
      'test/e2e/ha/rig.ts',
      'test/e2e/roll-ups.test.ts',
      'test/support/faults/full-disk.ts',
      'test/support/postgres/postgres-faults.ts',
      'test/support/processes/command.ts',
      'test/support/processes/ledger.ts',
      'test/support/webhooks/webhook-receiver.ts',
    ])
  })

  it('makes random choices that TEST_SEED does not repeat', () => {
    const unseeded = /Math\.random|randomInt|getRandomValues|\brandomBytes\b[^\n]*node:crypto/
    expect(filesWith(unseeded)).toEqual([])
  })

  it('outside of test/e2e names the stores that it runs on, instead of asking stores.ts', () => {
    const names = filesWith(/\.each(?:<.*>)?\(\[\s*\[?'sqlite'/i)
    expect(names.filter((file) => !file.startsWith('test/e2e/'))).toEqual([])
  })

  it('asks a server by a fetch that is not checked against the contract', () => {
    const asks = filesWith(/(?<![.\w])fetch\(/).filter((file) => file !== 'test/support/app/checked-fetch.ts')
    expect(
      asks.filter((file) => !/import \{ fetch \} from '[^']*checked-fetch\.ts'/.test(sources.get(file) ?? '')),
    ).toEqual([])
    expect(filesWith(/import \{[^}]*\brequest\b[^}]*\} from 'undici'/)).toEqual(['test/support/app/ask.ts'])
  })

  it('replaces anything that all code shares', () => {
    expect(filesWith(/^\s*(?:globalThis|global)[.[][^=\n]* = |stubGlobal/m)).toEqual([])
  })

  it('in test/e2e imports the service, itself or through test/support', () => {
    const reaches = (file: string, seen = new Set<string>()): boolean => {
      if (seen.has(file)) return false
      seen.add(file)
      return importsOf(file).some(
        (target) =>
          /^#src|\/src\//.test(target) ||
          (target.startsWith('.') &&
            sources.has(join(dirname(file), target)) &&
            reaches(join(dirname(file), target), seen)),
      )
    }
    expect(files.filter((file) => file.startsWith('test/e2e/') && reaches(file))).toEqual([])
  })

  it('is skipped without a reason that is printed', () => {
    const skips = filesWith(/\b(?:it|describe|test)\.(?:skip|skipIf|runIf|todo|only)\b/)
    expect(
      skips.filter(
        (file) =>
          !/console\.\w+\(|canTrace|canMount|canFakeClocks|hasPromtool|browserPath|firefoxPath|it\.skip\('\(/.test(
            sources.get(file) ?? '',
          ),
      ),
    ).toEqual([])
  })
})
