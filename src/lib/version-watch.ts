import type { Clock } from './clock.ts'
import { sharedByTurn, sharedOrNext, sharedWork } from './shared-work.ts'

/** Tells when cached data may be outdated, by a version number that changes with the data. */
export type VersionWatch = ReturnType<typeof createVersionWatch>

/** Half of the second within which every process must see a change. */
const FRESH_MILLISECONDS = 500

/** Reads the version at most twice a second, and only when it is needed. */
export function createVersionWatch(ask: () => Promise<number>, clock: Clock) {
  const listeners: (() => void)[] = []
  let version = -1
  let askedAt = Number.NEGATIVE_INFINITY
  let [begun, latest] = [0, 0]

  const read = async (): Promise<void> => {
    const number = ++begun
    const asked = clock.monotonic()
    const current = await ask()
    // Another read began later and ended earlier.
    if (number < latest) return
    latest = number
    askedAt = asked
    if (current === version) return
    version = current
    for (const listener of listeners) listener()
  }

  return {
    /** Whether the version was read less than half a second ago. */
    isFresh: () => clock.monotonic() - askedAt < FRESH_MILLISECONDS,
    // Many requests ask at once while a slow database answers.
    /** Reads the version. Shares a read that is under way, which may miss a change of the last moment. */
    makeFresh: sharedWork(read),
    /** Reads the version as it is now. Callers of one turn of the event loop share a read, and one read is under way at a time. */
    readNow: sharedByTurn(sharedOrNext(read)),
    /** Returns the version as last read. */
    version: () => version,
    onChange: (listener: () => void) => void listeners.push(listener),
  }
}

const MAX_CACHED = 10_000

/** Caches what is found by key until the version changes. What is not found is not cached. */
export function createVersionedCache<Value>(versions: VersionWatch) {
  const cached = new Map<string, Value>()
  versions.onChange(() => cached.clear())

  const load = async (key: string, find: () => Promise<Value | undefined>): Promise<Value | undefined> => {
    const asOf = versions.version()
    const found = await find()
    if (cached.size >= MAX_CACHED) cached.clear()
    // What was read before a change was noticed must not be cached after it.
    if (found !== undefined && asOf === versions.version()) cached.set(key, found)
    return found
  }

  return {
    get: (key: string) => cached.get(key),
    // A run that began before a change was noticed is not shared after it.
    /** Caches what `find` finds. Callers that ask for a key at once share a run. */
    load: sharedWork(load, (key) => `${versions.version()} ${key}`),
  }
}
