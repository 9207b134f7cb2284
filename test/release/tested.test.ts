import { writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { SerializedError, TestModule, TestRunEndReason, Vitest } from 'vitest/node'
import { readTested, sha256, type Tested, writeTested } from '../../tools/release/tested.ts'
import TestedReporter from '../support/processes/tested-reporter.ts'
import { tempFolder } from '../support/temp-folder.ts'

const NAME = 'teslim-linux-x64'
const FILES = ['test/one.test.ts', 'test/two.test.ts']
const EARLIER: Tested = {
  artefact: NAME,
  sha256: 'earlier',
  commit: 'c',
  platform: 'linux-x64',
  at: '',
  passed: 1,
  skipped: [],
}

interface Run {
  readonly files?: readonly string[]
  readonly reason?: TestRunEndReason
  readonly errors?: readonly SerializedError[]
  readonly testNamePattern?: RegExp
  /** What happens to the file under test while the tests run. */
  readonly meanwhile?: (path: string) => void
  readonly isCheckout?: boolean
}

/** Reports a run as Vitest does, after another one was written down, and returns what is written down then. */
function report({ files = FILES, reason = 'passed', errors = [], meanwhile, testNamePattern, isCheckout }: Run) {
  const root = tempFolder()
  const path = join(tempFolder(), NAME)
  writeFileSync(path, 'program')
  writeTested(root, EARLIER)
  const artefact = isCheckout ? undefined : { name: NAME, sha256: sha256(Buffer.from('program')), path }
  const projects = [{ getProvidedContext: () => ({}) }, { getProvidedContext: () => ({ artefact }) }]
  const reporter = new TestedReporter({ root, allFiles: () => FILES })
  reporter.onInit({ config: { testNamePattern }, projects } as unknown as Vitest)
  meanwhile?.(path)
  const tests = ['passed', 'passed', 'skipped'].map((state) => ({ fullName: state, result: () => ({ state }) }))
  const modules = files.map((file) => ({ moduleId: resolve(file), children: { allTests: () => tests } }))
  reporter.onTestRunEnd(modules as unknown as TestModule[], errors, reason)
  return readTested(root, NAME)
}

it('a run of the whole suite is written down by the checksum of what its tests started', () => {
  expect(report({})).toEqual({
    ...EARLIER,
    sha256: sha256(Buffer.from('program')),
    commit: expect.stringMatching(/^[\da-f]{40}(-dirty)?$/),
    platform: `${process.platform}-${process.arch}`,
    at: expect.any(String),
    passed: 4,
    skipped: ['skipped', 'skipped'],
  })
})

describe('a whole run removes what was written down before', () => {
  it.each<[string, Run]>([
    ['if a test failed', { reason: 'failed' }],
    ['if it was interrupted', { reason: 'interrupted' }],
    ['if an error belongs to no test', { errors: [{ message: 'x' }] }],
    ['if the program was built again meanwhile', { meanwhile: (path) => writeFileSync(path, 'another') }],
  ])('%s', (_, run) => {
    expect(report(run)).toBeUndefined()
  })
})

describe('nothing is written down', () => {
  it.each<[string, Run]>([
    ['of a run without some files', { files: FILES.slice(1) }],
    ['of a run of some tests', { testNamePattern: /x/ }],
    ['of a run on a checkout', { isCheckout: true }],
    ['of a run of some files that failed', { files: FILES.slice(1), reason: 'failed' }],
  ])('%s', (_, run) => {
    expect(report(run)).toEqual(EARLIER)
  })
})
