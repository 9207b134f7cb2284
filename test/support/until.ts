const PAUSE_MILLISECONDS = 10

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
  for (let waited = 0; !(await holds()); waited += PAUSE_MILLISECONDS) {
    const took = performance.now() - began
    if (waited > milliseconds || took > 4 * milliseconds)
      throw new Error(`not within ${milliseconds} ms (after ${Math.round(took)} ms): ${condition}`)
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MILLISECONDS))
  }
}

/** Leaves a client of a load a moment before its next request, as a real one has. Not for waiting until something happened. */
export const pace = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds))
