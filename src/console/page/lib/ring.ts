import type { Frame } from '#src/console/live/live.schema.ts'

/** What came in within one second. */
interface Slot {
  readonly second: number
  /** Whether a frame has counted it. */
  known: boolean
  byStatus: number[]
  duplicates: number
  /** By error code. */
  refusals: Record<string, number>
}

/** The last 15 minutes. */
export const RING_SECONDS = 900

const empty = (second: number): Slot => ({ second, known: false, byStatus: [0, 0, 0, 0], duplicates: 0, refusals: {} })

export type Ring = ReturnType<typeof createRing>

/**
 * Adds up the frames of the live stream by second, in bounded memory. A second is known once a frame has counted it; deliveries that
 * come later with an older time are added to theirs.
 */
export function createRing(size = RING_SECONDS) {
  let slots: Slot[] = []
  /** The second of the newest frame; undefined before the first one. */
  let now: number | undefined
  /** The first second that no frame has counted yet. */
  let next = 0
  let refusedSince: number | undefined

  const at = (second: number): Slot => {
    const known = slots[second % size]
    if (known?.second === second) return known
    const slot = empty(second)
    slots[second % size] = slot
    return slot
  }

  return {
    now: () => now,
    /** From which second on refusals are counted. */
    refusedSince: () => refusedSince,

    clear() {
      slots = []
      now = undefined
      refusedSince = undefined
    },

    /** A frame with `Since` begins again: it replaces what was counted from then on, and refused from `RefusedSince` on. */
    add({
      At,
      Since,
      RefusedSince,
      Seconds,
      StoreUp,
    }: Pick<Frame, 'At' | 'Since' | 'RefusedSince' | 'Seconds' | 'StoreUp'>) {
      const newest = Math.max(now ?? 0, Math.floor(Date.parse(At) / 1000))
      const oldest = newest - size + 1
      if (now === undefined) next = newest
      now = newest
      if (Since !== undefined) {
        slots = slots.map((slot) => {
          const kept = slot.second < Since ? slot : empty(slot.second)
          return { ...kept, refusals: slot.second < (RefusedSince ?? Since) ? slot.refusals : {} }
        })
        next = Since
        refusedSince = RefusedSince
      }
      // While the store cannot be read, nobody knows what came in.
      if (StoreUp) {
        for (let second = Math.max(next, oldest); second <= newest; second++) at(second).known = true
        next = newest + 1
      }
      for (const { At: second, ByStatus, Duplicates, Refusals = {} } of Seconds) {
        // The clock of another server may be ahead.
        const place = Math.min(second, newest)
        if (place < oldest) continue
        const slot = at(place)
        slot.byStatus = slot.byStatus.map((count, status) => count + (ByStatus[status] ?? 0))
        slot.duplicates += Duplicates
        for (const [code, count] of Object.entries(Refusals)) slot.refusals[code] = (slot.refusals[code] ?? 0) + count
      }
    },

    /** Returns the counts of a second. */
    read(second: number): Readonly<Slot> {
      const slot = slots[second % size]
      const isShown = now !== undefined && second > now - size && second <= now
      return slot?.second === second && isShown ? slot : empty(second)
    },
  }
}
