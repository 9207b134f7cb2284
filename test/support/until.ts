const PAUSE_MILLISECONDS = 10
/** Whoever waits for long looks less often: a look may take a process some milliseconds. */
const MAX_PAUSE_MILLISECONDS = 100

/**
 * Resolves as soon as a condition holds, and fails when it does not within the time given. It counts its pauses, which take longer on
 * a busy machine, but waits no more than four times as long. The only timer of the tests.
 */
export async function until(
  condition: string,
  holds: () => boolean | Promise<boolean>,
  { milliseconds = 15_000 }: { readonly milliseconds?: number } = {},
): Promise<void> {
  const began = performance.now()
  for (let waited = 0, pause = PAUSE_MILLISECONDS; !(await holds()); waited += pause) {
    const took = performance.now() - began
    if (waited > milliseconds || took > 4 * milliseconds)
      throw new Error(`not within ${milliseconds} ms (after ${Math.round(took)} ms): ${condition}`)
    pause = Math.min(Math.max(PAUSE_MILLISECONDS, waited / 20), MAX_PAUSE_MILLISECONDS)
    await new Promise((resolve) => setTimeout(resolve, pause))
  }
}

/** Leaves a client of a load a moment before its next request, as a real one has. Not for waiting until something happened. */
export const pace = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds))
