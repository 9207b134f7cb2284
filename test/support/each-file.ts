import fc from 'fast-check'
import { afterAll, inject } from 'vitest'
import { removeTempFolders } from './temp-folder.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Decides every random choice of a run. Printed at its start; TEST_SEED repeats it. */
    readonly seed: number
  }
}

fc.configureGlobal({ seed: inject('seed') })

// Runs last: what a test file registers runs before it.
afterAll(removeTempFolders)
