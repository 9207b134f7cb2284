/** The last 15 minutes. */
export const RING_SECONDS = 900

const empty = (second) => ({ second, known: false, byStatus: [0, 0, 0, 0], duplicates: 0, refusals: {} })

/**
 * Adds up the frames of the live stream by second, in bounded memory. A second is known once a frame has counted it; deliveries that
 * come later with an older time are added to theirs.
 */
export function createRing(size = RING_SECONDS) {
  let slots = []
  /** The second of the newest frame. */
  let now
  /** The first second that no frame has counted yet. */
  let next

  /** From which second on refusals are counted: nobody says later what was refused without a connection. */
  let refusedSince

  const at = (second) => {
    const index = second % size
    if (slots[index]?.second !== second) slots[index] = empty(second)
    return slots[index]
  }

  const isShown = (second) => second > now - size && second <= now

  const countUntilNow = () => {
    for (let second = Math.max(next ?? now, now - size + 1); second <= now; second++) at(second).known = true
    next = now + 1
  }

  return {
    now: () => now,
    refusedSince: () => refusedSince,

    /** Begins to count refusals again. */
    connect() {
      refusedSince = undefined
      for (const slot of slots) if (slot) slot.refusals = {}
    },

    clear() {
      slots = []
      now = undefined
      refusedSince = undefined
      next = undefined
    },

    /** A frame with `Since` begins again: it replaces what was counted from then on. */
    add({ At, Since, Seconds, Refusals, StoreUp }) {
      now = Math.max(now ?? 0, Math.floor(Date.parse(At) / 1000))
      if (Since !== undefined) {
        slots = slots.map((slot) => (slot.second < Since ? slot : { ...empty(slot.second), refusals: slot.refusals }))
        next = Math.max(Since, now - size + 1)
      }
      // While the store cannot be read, nobody knows what came in.
      if (StoreUp) countUntilNow()
      for (const { At: second, ByStatus, Duplicates } of Seconds) {
        // The clock of another server may be ahead.
        const place = Math.min(second, now)
        if (!isShown(place)) continue
        const slot = at(place)
        for (const status of slot.byStatus.keys()) slot.byStatus[status] += ByStatus[status]
        slot.duplicates += Duplicates
      }
      refusedSince ??= now
      for (const [code, count] of Object.entries(Refusals)) {
        const { refusals } = at(now)
        refusals[code] = (refusals[code] ?? 0) + count
      }
    },

    /** Returns the counts of a second. */
    read(second) {
      const slot = slots[second % size]
      return slot?.second === second && isShown(second) ? slot : empty(second)
    },
  }
}
