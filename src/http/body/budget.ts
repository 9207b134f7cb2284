import type { FastifyRequest } from 'fastify'
import type { Clock } from '#src/lib/clock.ts'
import { memoryShare } from '#src/lib/memory-share.ts'
import { networkOf } from '#src/lib/net/network.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** The API key or customer whose share of the budget the request uses; null for callers without one, who are counted by address. */
    budgetOwner: string | null
  }
}

export const budgetOwner = ({ budgetOwner, address }: FastifyRequest): string => budgetOwner ?? networkOf(address)

/** Memory for a body being received, or for an answer that its client has not read. Released at the latest when its request ends. */
export type Reservation = ReturnType<BodyPool['reserve']>

/** A budget of bytes that bodies or answers share. */
export type BodyPool = ReturnType<typeof createPool>

/** Separate pools, so that no kind of caller can use up the memory of another. */
export type BodyBudget = ReturnType<typeof createBodyBudget>

/** A key that is alone with its bodies gets three quarters of their pool; one that comes then gets three quarters of the rest. */
const BODIES_SHARE = 3

export function createBodyBudget(clock: Clock) {
  const bytes = memoryShare()
  return {
    /** For callers that are not authenticated yet. */
    unauthenticated: createPool(bytes / 4, clock),
    /** For bodies of authenticated callers with a small Content-Length. */
    small: createPool(bytes / 8, clock, BODIES_SHARE),
    large: createPool(bytes / 2, clock, BODIES_SHARE),
    /** For what each body takes that is answered while it arrives. */
    uploads: createPool(bytes / 8, clock),
    /** For large answers until they are read. */
    answers: createPool(bytes / 2, clock),
  }
}

/** A body that is incomplete after this time may be evicted. */
const PATIENCE_MILLISECONDS = 2000

interface Entry {
  bytes: number
  readonly owner: string
  readonly since: number
  readonly onEvicted: () => void
}

/** An owner may hold `share` times what is left for others. */
export function createPool(limit: number, clock: Pick<Clock, 'monotonic'>, share = 1) {
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

  const available = (owner: string): number => {
    const left = limit - held
    return Math.min(left, share * left - heldBy(owner))
  }
  /** A single body of any size always fits, and that of an owner without others as long as it is within the limit. */
  const fits = (owner: string, bytes: number, ofEntry: number): boolean =>
    bytes <= available(owner) || held === ofEntry || (heldBy(owner) === ofEntry && held + bytes <= limit)

  /** Evicts slow bodies, but of no owner that would hold less than the one that needs the memory. */
  const evictFor = (owner: string, bytes: number, entry?: Entry): boolean => {
    const now = clock.monotonic()
    for (const slow of unfinished) {
      if (now - slow.since < PATIENCE_MILLISECONDS) break
      const isSpared = slow.owner !== owner && heldBy(slow.owner) < heldBy(owner) + bytes
      if (slow === entry || slow.bytes === 0 || isSpared) continue
      release(slow)
      slow.onEvicted()
      if (fits(owner, bytes, entry?.bytes ?? 0)) return true
    }
    return false
  }

  return {
    /** In bytes. */
    limit,
    /**
     * The owner is an API key, a customer or an address. It may hold as many times what is left for others as the pool's share says.
     * Calls `onEvicted` if the body arrives so slowly that its memory goes to another one.
     */
    reserve(owner: string, onEvicted: () => void) {
      const entry: Entry = { bytes: 0, owner, since: clock.monotonic(), onEvicted }
      unfinished.add(entry)
      return {
        /** Reserves more bytes. Returns false if the budget does not allow it, and then releases all of them. */
        extend(bytes: number): boolean {
          const taken = fits(owner, bytes, entry.bytes) || evictFor(owner, bytes, entry)
          if (taken) count(entry, bytes)
          else release(entry)
          return taken
        },
        /** Marks the body as complete: it can no longer be evicted. */
        complete: () => void unfinished.delete(entry),
        release: () => release(entry),
      }
    },
    /** Whether an owner may reserve that many bytes. Evicts slow bodies if that helps. */
    canReserve: (owner: string, bytes: number) => fits(owner, bytes, 0) || evictFor(owner, bytes),
    /** How many more bytes an owner may reserve. */
    available,
  }
}
