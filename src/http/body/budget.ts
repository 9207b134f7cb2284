import type { FastifyRequest } from 'fastify'
import type { Clock } from '#src/lib/clock.ts'
import { memoryShare } from '#src/lib/memory-share.ts'
import { networkOf } from '#src/lib/net/network.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The API key or customer whose share of the budget the request uses; null for strangers, who are counted by address. */
    roomOwner: string | null
  }
}

export const roomOwner = ({ roomOwner, address }: FastifyRequest): string => roomOwner ?? networkOf(address)

/** A body being received, or an answer that its client has not read. It counts until it is released, at the latest when its request ends. */
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
  /**
   * The owner is an API key, a customer or an address. It may hold as many times what is left for others as the pool's share says. Calls `giveUp` if the body arrives so slowly that another one gets its room.
   */
  hold(owner: string, giveUp: () => void): HeldBody
  /** Whether there is room for so many bytes of an owner. Takes that of slow bodies if there is none. */
  hasRoom(owner: string, bytes: number): boolean
  /** How many bytes more an owner may hold. */
  roomOf(owner: string): number
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
  /** For large answers until they are read. */
  readonly answers: BodyPool
}

/** A key that is alone with its bodies gets three quarters of their pool; one that comes then gets three quarters of the rest. */
const BODIES_SHARE = 3

export function createBodyBudget(clock: Clock): BodyBudget {
  const bytes = memoryShare()
  return {
    strangers: createPool(bytes / 4, clock),
    small: createPool(bytes / 8, clock, BODIES_SHARE),
    large: createPool(bytes / 2, clock, BODIES_SHARE),
    uploads: createPool(bytes / 8, clock),
    answers: createPool(bytes / 2, clock),
  }
}

/** A body that is incomplete after this time may lose its room to another one. */
const PATIENCE_MILLISECONDS = 2000

interface Entry {
  bytes: number
  readonly owner: string
  readonly since: number
  readonly giveUp: () => void
}

/** An owner may hold `share` times what is left for others. */
export function createPool(limit: number, clock: Pick<Clock, 'monotonic'>, share = 1): BodyPool {
  let held = 0
  /** In order of arrival. */
  const unfinished = new Set<Entry>()
  /** Bytes by owner, without those that hold none. */
  const owners = new Map<string, number>()

  const heldBy = (owner: string): number => owners.get(owner) ?? 0
  const count = (entry: Entry, bytes: number): void => {
    entry.bytes += bytes
    held += bytes
    const all = heldBy(entry.owner) + bytes
    if (all > 0) owners.set(entry.owner, all)
    else owners.delete(entry.owner)
  }
  const release = (entry: Entry): void => {
    count(entry, -entry.bytes)
    unfinished.delete(entry)
  }

  const roomOf = (owner: string): number => {
    const left = limit - held
    return Math.min(left, share * left - heldBy(owner))
  }
  /** A single body of any size always fits, and that of an owner without others as long as there is room at all. */
  const fits = (owner: string, bytes: number, ofEntry: number): boolean =>
    bytes <= roomOf(owner) || held === ofEntry || (heldBy(owner) === ofEntry && held + bytes <= limit)

  /** Takes the room of slow bodies, but of no owner that would hold less than the one that needs it. */
  const makeRoom = (owner: string, bytes: number, entry?: Entry): boolean => {
    const now = clock.monotonic()
    for (const slow of unfinished) {
      if (now - slow.since < PATIENCE_MILLISECONDS) break
      const isSpared = slow.owner !== owner && heldBy(slow.owner) < heldBy(owner) + bytes
      if (slow === entry || slow.bytes === 0 || isSpared) continue
      release(slow)
      slow.giveUp()
      if (fits(owner, bytes, entry?.bytes ?? 0)) return true
    }
    return false
  }

  return {
    limit,
    hold(owner, giveUp) {
      const entry: Entry = { bytes: 0, owner, since: clock.monotonic(), giveUp }
      unfinished.add(entry)
      return {
        grow(bytes) {
          const taken = fits(owner, bytes, entry.bytes) || makeRoom(owner, bytes, entry)
          if (taken) count(entry, bytes)
          else release(entry)
          return taken
        },
        complete: () => void unfinished.delete(entry),
        release: () => release(entry),
      }
    },
    hasRoom: (owner, bytes) => fits(owner, bytes, 0) || makeRoom(owner, bytes),
    roomOf,
  }
}
