import { totalmem } from 'node:os'
import { getHeapStatistics } from 'node:v8'
import type { Config } from '#src/config/load-config.ts'
import type { Clock } from '#src/lib/clock.ts'

/** A body of which something has come. It counts until it is released, at the latest with the end of its request. */
export interface HeldBody {
  /** Counts more bytes; false where there is no room for them, and then the body counts no longer. */
  grow(bytes: number): boolean
  /** All of it has come, so it is not given up for others any more. */
  complete(): void
  release(): void
}

/** A number of bytes that bodies share. */
export interface BodyPool {
  /** `giveUp` is called if the body comes so slowly that its room goes to another one. */
  hold(giveUp: () => void): HeldBody
}

/** Parts of their own, so that no kind of caller can use up the room of another. */
export interface BodyBudget {
  /** For callers that are not known yet. */
  readonly strangers: BodyPool
  /** For bodies of known callers that are announced as small ones. */
  readonly small: BodyPool
  readonly large: BodyPool
}

/** A part of the memory that this process may have, or of V8's heap, where the texts of bodies lie. */
const PART_OF_MEMORY = 8
const PART_OF_HEAP = 4

export function createBodyBudget({ bodyBudgetBytes }: Config, clock: Clock): BodyBudget {
  const bytes = bodyBudgetBytes || defaultBudget()
  return {
    strangers: createPool(bytes / 4, clock),
    small: createPool(bytes / 4, clock),
    large: createPool(bytes / 2, clock),
  }
}

function defaultBudget(): number {
  // 0 where it is not known, and a huge number where the control group sets no limit.
  const memory = Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem())
  return Math.floor(Math.min(memory / PART_OF_MEMORY, getHeapStatistics().heap_size_limit / PART_OF_HEAP))
}

/** What has not come whole after this time may lose its room to another body. */
const PATIENCE_MILLISECONDS = 2000

interface Entry {
  bytes: number
  readonly since: number
  readonly giveUp: () => void
}

function createPool(limit: number, clock: Clock): BodyPool {
  let held = 0
  /** The oldest first. */
  const unfinished = new Set<Entry>()

  const release = (entry: Entry): void => {
    held -= entry.bytes
    entry.bytes = 0
    unfinished.delete(entry)
  }

  /** One body of any size has room alone. */
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
