import type { Clock } from '#src/lib/clock.ts'
import type { Pace } from './purge.rule.ts'

/** How much longer than its steps the pauses of long work are. */
const PAUSES = 3
const SHORTEST_PAUSE_MILLISECONDS = 2

export interface PaceDependencies {
  readonly clock: Pick<Clock, 'monotonic'>
  readonly wait: (milliseconds: number) => Promise<void>
}

/** Leaves most of the time to others. */
export const createPace =
  ({ clock, wait }: PaceDependencies): Pace =>
  async (step) => {
    const start = clock.monotonic()
    const result = await step()
    await wait(Math.max(SHORTEST_PAUSE_MILLISECONDS, (clock.monotonic() - start) * PAUSES))
    return result
  }
