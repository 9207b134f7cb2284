const PAUSE_MILLISECONDS = 10

/** Resolves as soon as a condition holds, and fails when it does not within the time given. The only timer of the tests. */
export async function until(
  condition: string,
  holds: () => boolean | Promise<boolean>,
  { milliseconds = 15_000 }: { readonly milliseconds?: number } = {},
): Promise<void> {
  const end = performance.now() + milliseconds
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`not within ${milliseconds} ms: ${condition}`)
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MILLISECONDS))
  }
}

/** Leaves a client of a load a moment before its next request, as a real one has. Not for waiting until something happened. */
export const pace = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds))
