import { afterAll, onTestFinished } from 'vitest'

/** Runs at the end of the test, or of the file where no test is under way: a test cannot register an `afterAll`. */
export function atTheEnd(work: () => void | Promise<void>): void {
  try {
    onTestFinished(work)
  } catch {
    afterAll(work)
  }
}
