import { afterAll, beforeAll, onTestFinished } from 'vitest'

type Work = () => void | Promise<void>

/** Vitest forgets an `afterAll` of a hook. Undefined while the tests of a file are listed. */
let ofHooks: Work[] | undefined

/** Lets hooks of a file call `atTheEnd`, too (each-file.ts). */
export function heedHooks(): void {
  ofHooks = undefined
  beforeAll(() => {
    ofHooks = []
  })
  afterAll(async () => {
    for (const work of ofHooks?.toReversed() ?? []) await work()
  })
}

/** Runs at the end of the test, or of the file where no test is under way. */
export function atTheEnd(work: Work): void {
  try {
    onTestFinished(work)
  } catch {
    if (ofHooks) ofHooks.push(work)
    else afterAll(work)
  }
}
