import type { Pace } from './purge.rule.ts'

/** How much longer than its steps the pauses of long work are. */
const PAUSES = 3
const SHORTEST_PAUSE_MILLISECONDS = 2

export interface PaceDependencies {
  readonly monotonic: () => number
  readonly wait: (milliseconds: number) => Promise<void>
}

/** Leaves most of the time to others. */
export const createPace =
  ({ monotonic, wait }: PaceDependencies): Pace =>
  async (step) => {
    const start = monotonic()
    const result = await step()
    await wait(Math.max(SHORTEST_PAUSE_MILLISECONDS, (monotonic() - start) * PAUSES))
    return result
  }
