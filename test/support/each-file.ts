import { getPriority } from 'node:os'
import fc from 'fast-check'
import { afterAll, expect, inject } from 'vitest'
import { newViolations } from './app/checked-fetch.ts'
import { heedHooks } from './at-the-end.ts'
import { removeTempFolders } from './temp-folder.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Decides every random choice of a run. Printed at its start; TEST_SEED repeats it. */
    readonly seed: number
  }
}

fc.configureGlobal({ seed: inject('seed') })

/** A worker, and all that it starts, would be late from then on. */
const priority = getPriority()

// These run last: what a test file registers runs before them. They stand here because a module that several files share runs once.
afterAll(removeTempFolders)
afterAll(() => expect(getPriority(), 'the priority of this process').toBe(priority))
afterAll(() =>
  expect(
    newViolations(),
    'answers of a server that are not in openapi.yaml, and outputs of commands that are not in docs/json.md',
  ).toEqual([]),
)
heedHooks()
