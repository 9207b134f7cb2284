import { isFull } from './failures.ts'

const PATIENCE_MILLISECONDS = 2000
const AGAIN_MILLISECONDS = 100

/** Tries again for a while where there is no connection left: those of a process that has just ended may still be there. */
export async function onceFree(open: () => unknown): Promise<void> {
  const deadline = performance.now() + PATIENCE_MILLISECONDS
  let reason: unknown
  for (;;) {
    try {
      await open()
      return
    } catch (error) {
      if (!isFull(error)) throw error
      // The server says more than a pool that has just asked it.
      reason ??= error
      if (performance.now() > deadline) throw reason
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MILLISECONDS))
  }
}
