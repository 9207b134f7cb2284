import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import type { Config } from '#src/config/load-config.ts'
import type { Clock } from '#src/lib/clock.ts'

/** A body being received. It counts until it is released, at the latest when its request ends. */
export interface HeldBody {
  /** Counts more bytes; returns false if there is no room, and then releases the body. */
  grow(bytes: number): boolean
  /** Marks the body as complete: it no longer loses its room to others. */
  complete(): void
  release(): void
}

/** A budget of bytes that bodies share. */
export interface BodyPool {
  /** In bytes. */
  readonly limit: number
  /** Calls `giveUp` if the body arrives so slowly that another one gets its room. */
  hold(giveUp: () => void): HeldBody
}

/** Separate pools, so that no kind of caller can use up the room of another. */
export interface BodyBudget {
  /** For callers that are not authenticated yet. */
  readonly strangers: BodyPool
  /** For bodies of authenticated callers with a small Content-Length. */
  readonly small: BodyPool
  readonly large: BodyPool
  /** For what each body takes that is answered while it arrives. */
  readonly uploads: BodyPool
}

/** The budget is a fraction of this process's memory, or of V8's heap, which holds the decoded bodies. */
const PART_OF_MEMORY = 8
const PART_OF_HEAP = 4

export function createBodyBudget({ bodyBudgetBytes, httpThreads }: Config, clock: Clock): BodyBudget {
  const bytes = bodyBudgetBytes || defaultBudget(httpThreads)
  return {
    strangers: createPool(bytes / 4, clock),
    small: createPool(bytes / 8, clock),
    large: createPool(bytes / 2, clock),
    uploads: createPool(bytes / 8, clock),
  }
}

function defaultBudget(threads: number): number {
  // 0 if it is unknown, and a huge number if the control group sets no limit.
  const memory = Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem())
  return Math.floor(Math.min(memory / PART_OF_MEMORY / threads, getHeapStatistics().heap_size_limit / PART_OF_HEAP))
}

/** A body that is incomplete after this time may lose its room to another one. */
const PATIENCE_MILLISECONDS = 2000

interface Entry {
  bytes: number
  readonly since: number
  readonly giveUp: () => void
}

function createPool(limit: number, clock: Clock): BodyPool {
  let held = 0
  /** In order of arrival. */
  const unfinished = new Set<Entry>()

  const release = (entry: Entry): void => {
    held -= entry.bytes
    entry.bytes = 0
    unfinished.delete(entry)
  }

  /** A single body of any size always fits. */
  const hasRoom = (entry: Entry, bytes: number): boolean => held + bytes <= limit || held === entry.bytes

  const makeRoom = (entry: Entry, bytes: number): boolean => {
    const now = clock.monotonic()
    for (const slow of unfinished) {
      if (hasRoom(entry, bytes) || slow === entry || now - slow.since < PATIENCE_MILLISECONDS) break
      release(slow)
      slow.giveUp()
    }
    return hasRoom(entry, bytes)
  }

  return {
    limit,
    hold(giveUp) {
      const entry: Entry = { bytes: 0, since: clock.monotonic(), giveUp }
      unfinished.add(entry)
      return {
        grow(bytes) {
          const taken = hasRoom(entry, bytes) || makeRoom(entry, bytes)
          if (taken) {
            entry.bytes += bytes
            held += bytes
          } else release(entry)
          return taken
        },
        complete: () => void unfinished.delete(entry),
        release: () => release(entry),
      }
    },
  }
}
