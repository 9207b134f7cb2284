import type { Clock } from './clock.ts'
import { sharedWork } from './shared-work.ts'

/** Tells when what was read elsewhere may have changed, by a number that changes with it. */
export interface VersionWatch {
  /** Whether the number was asked for less than half a second ago. */
  isFresh(): boolean
  makeFresh(): Promise<void>
  /** The number as it was last seen. */
  version(): number
  onChange(listener: () => void): void
}

/** Half of the second within which a change must be seen everywhere. */
const FRESH_MILLISECONDS = 500

/** Asks at most twice a second, and only while somebody wants to know. */
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
    // On a database far away many ask meanwhile.
    makeFresh: sharedWork(look),
    version: () => version,
    onChange: (listener) => void listeners.push(listener),
  }
}
