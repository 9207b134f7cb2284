import type { Clock } from './clock.ts'
import { sharedWork } from './shared-work.ts'

/** Tells when cached data may be outdated, by a version number that changes with the data. */
export interface VersionWatch {
  /** Whether the version was read less than half a second ago. */
  isFresh(): boolean
  makeFresh(): Promise<void>
  /** Returns the version as last read. */
  version(): number
  onChange(listener: () => void): void
}

/** Half of the second within which every process must see a change. */
const FRESH_MILLISECONDS = 500

/** Reads the version at most twice a second, and only when it is needed. */
export function createVersionWatch(ask: () => Promise<number>, clock: Clock): VersionWatch {
  const listeners: (() => void)[] = []
  let version = -1
  let askedAt = Number.NEGATIVE_INFINITY

  const look = async (): Promise<void> => {
    const asked = clock.monotonic()
    const current = await ask()
    askedAt = asked
    if (current === version) return
    version = current
    for (const listener of listeners) listener()
  }

  return {
    isFresh: () => clock.monotonic() - askedAt < FRESH_MILLISECONDS,
    // Many requests ask at once while a slow database answers.
    makeFresh: sharedWork(look),
    version: () => version,
    onChange: (listener) => void listeners.push(listener),
  }
}
