import { randomInt } from 'node:crypto'
import { existsSync, statfsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { filesOf } from './test/support/projects.ts'

const seed = Number(process.env.TEST_SEED || randomInt(2 ** 31))
if (!Number.isSafeInteger(seed)) throw new Error(`TEST_SEED is a whole number, not "${process.env.TEST_SEED}"`)
console.info(`TEST_SEED=${seed} repeats the random choices of this run`)

// Workers find vitest, the service and its packages compiled.
process.env.NODE_COMPILE_CACHE ??= new URL('./node_modules/.cache/teslim-tests', import.meta.url).pathname

// Tests kill processes and make syncs fail, but none cuts the power of a real disk: their folders may lie in memory.
const MEMORY = '/dev/shm'
const GIB = 2 ** 30
if (existsSync(MEMORY) && statfsSync(MEMORY).bavail * statfsSync(MEMORY).bsize > 4 * GIB) process.env.TMPDIR ??= MEMORY

const shared = {
  // Tests run on Node's own type stripping, as the service does.
  // No module is mocked, so none need be looked at for mocks when it is loaded.
  experimental: { viteModuleRunner: false, nodeLoader: false },
  // Argon2 and processes are slow on a small machine, and three times as slow on a busy one.
  testTimeout: 90_000 * Math.max(1, Number(process.env.TEST_TIMES || 1)),
  hookTimeout: 90_000,
  // What is polled for comes later on a busy machine, not otherwise.
  expect: { poll: { timeout: 15_000 } },
  setupFiles: './test/support/each-file.ts',
  // The files of a worker share the modules that they import: loading them is a third of the time.
  isolate: false,
  // A test that needs another one before it fails sooner or later.
  sequence: { shuffle: { tests: true } },
}
const onSqlite = { ...shared, provide: { seed, stores: ['sqlite'] as const } }
const onBothStores = {
  ...shared,
  globalSetup: './test/support/processes/global-setup.ts',
  provide: { seed, stores: ['sqlite', 'postgres'] as const },
}

/** Writes down which file passed the whole suite, for `npm run release`. */
const TESTED = './test/support/processes/tested-reporter.ts'

const LONGEST =
  /\/test\/(build|e2e|examples|docs|console|webhook|contract)\/|-conformance|\/(pgbouncer|postgres-gaps|postgres-plans|erasure-races|restore|erase|container)\.test/

/**
 * Tests on whole processes and in a browser take longest: none of them should be what all others wait for at the end. One project
 * comes after the other, because a worker ends where the next file is of another project.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ project, moduleId }: TestSpecification): number => {
      if (project.name === 'alone') return 4
      const isLong = LONGEST.test(moduleId)
      if (project.name === 'fast') return isLong ? 2 : 3
      return isLong ? 0 : 1
    }
    return (await super.sort(files)).toSorted((one, other) => place(one) - place(other))
  }
}

export default defineConfig(({ mode }) => {
  // Where others wait for the answer, `npm test` has all files.
  const files = filesOf(process.env.CI && mode === 'usual' ? 'all' : mode)
  return {
    test: {
      sequence: { seed, sequencer: LongestFirst },
      // Three more than there are processors, because tests that start processes wait for disks, limits and pauses.
      maxWorkers: availableParallelism() + 3,
      reporters: process.env.CI
        ? ['default', TESTED, ['json', { outputFile: 'coverage/test-results.json' }]]
        : ['default', TESTED],
      projects: [
        { test: { ...onSqlite, name: 'fast', include: files.fast } },
        { test: { ...onBothStores, name: 'processes', include: files.processes } },
        {
          test: {
            ...onBothStores,
            name: 'alone',
            include: files.alone,
            sequence: { ...shared.sequence, groupOrder: 1 },
            fileParallelism: false,
          },
        },
      ],
    },
  }
})
