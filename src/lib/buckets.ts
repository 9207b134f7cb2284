/** Tokens of an API key, as counted at a time of the monotonic clock. */
export interface Bucket {
  readonly tokens: number
  readonly at: number
}

/** Keeps a bucket by the id of its owner, a UUID. Forgets buckets that were not used for as long as it takes to fill them. */
export interface Buckets {
  /** Replaces a bucket with what `change` makes of it; nothing else does meanwhile. */
  update(id: string, now: number, change: (bucket: Bucket | undefined) => Bucket): void
}

export function createBuckets(fillMilliseconds: number): Buckets {
  let recent = new Map<string, Bucket>()
  let before = new Map<string, Bucket>()
  let turnedAt = Number.NEGATIVE_INFINITY

  const turn = (now: number): void => {
    const elapsed = now - turnedAt
    if (elapsed < fillMilliseconds) return
    before = elapsed < 2 * fillMilliseconds ? recent : new Map()
    recent = new Map()
    turnedAt = now
  }

  return {
    update(id, now, change) {
      turn(now)
      recent.set(id, change(recent.get(id) ?? before.get(id)))
    },
  }
}

/** A power of two. A server with more keys in use than this fills some buckets too early. */
const PLACES = 65_536
/** How many places an id may take. */
const PROBES = 16
const NUMBERS = 3
const LOCK_BYTES = 8
/** Milliseconds to wait for the lock, which is held for microseconds: a thread that died with it must not hold up the others. */
const MOST_WAITS = 1000

export const newSharedBuckets = (): SharedArrayBuffer =>
  new SharedArrayBuffer(LOCK_BYTES + PLACES * NUMBERS * Float64Array.BYTES_PER_ELEMENT)

/** Buckets that several threads share, in a table of which each place has an owner, tokens and a time. */
export function createSharedBuckets(memory: SharedArrayBuffer, fillMilliseconds: number): Buckets {
  const lock = new Int32Array(memory, 0, 1)
  const table = new Float64Array(memory, LOCK_BYTES)

  /** Finds the place of an owner; else a free one, or the one that was used longest ago. */
  const placeOf = (owner: number): number => {
    let oldest = -1
    for (let probe = 0; probe < PROBES; probe++) {
      const place = ((owner + probe) % PLACES) * NUMBERS
      if (table[place] === owner) return place
      if (oldest < 0 || (table[place + 2] as number) < (table[oldest + 2] as number)) oldest = place
    }
    return oldest
  }

  const updateLocked = (owner: number, now: number, change: (bucket: Bucket | undefined) => Bucket): void => {
    const place = placeOf(owner)
    const [tokens, at] = [table[place + 1] as number, table[place + 2] as number]
    const isKnown = table[place] === owner && now - at < fillMilliseconds
    const next = change(isKnown ? { tokens, at } : undefined)
    table[place] = owner
    table[place + 1] = next.tokens
    table[place + 2] = next.at
  }

  return {
    update(id, now, change) {
      for (let waits = 0; waits < MOST_WAITS && Atomics.compareExchange(lock, 0, 0, 1) !== 0; waits++) {
        Atomics.wait(lock, 0, 1, 1)
      }
      try {
        updateLocked(ownerOf(id), now, change)
      } finally {
        Atomics.store(lock, 0, 0)
        Atomics.notify(lock, 0, 1)
      }
    },
  }
}

/** The last 48 bits of a UUID are random, and no owner is 0. */
const ownerOf = (id: string): number => Number.parseInt(id.slice(-12), 16) + 1
