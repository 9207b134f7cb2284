import { type Entry, rowOf } from './entry.ts'
import { createLanes } from './lanes.ts'
import type { Ledger } from './ledger.ts'
import type { Slot } from './window.ts'

/** The deliveries to an endpoint that were read, or wait in the store, and are not confirmed, with what is counted of them. */
export function createBacklog(confirmed: readonly number[], ledger: Ledger) {
  const lanes = createLanes<Entry>()
  /** What is settled or waits beyond what was read. */
  const ahead = new Map<number, Entry | 'settled'>(confirmed.map((position) => [position, 'settled']))
  let size = 0
  let waiting = 0
  let failing = 0

  const makeWaiting = (entry: Entry): void => {
    if (!entry.isWaiting) waiting++
    entry.isWaiting = true
    if (entry.slot) entry.slot.state = 'waiting'
    ledger.keep(rowOf(entry, null))
  }

  /** Removes a delivery that needs no further attempt. */
  const finish = (entry: Entry): void => {
    lanes.remove(entry)
    size--
    if (entry.isWaiting) waiting--
    if (entry.failures > 0) failing--
    if (entry.slot) entry.slot.state = 'settled'
    else if (ahead.has(entry.position)) ahead.set(entry.position, 'settled')
  }

  return {
    lanes,
    add(entry: Entry, dueAt: number): void {
      lanes.add(entry, dueAt)
      size++
      if (entry.isWaiting) waiting++
      if (entry.failures > 0) failing++
    },
    /** Adds a delivery that waits beyond what was read. */
    addAhead: (entry: Entry): void => void ahead.set(entry.position, entry),
    /** Returns the slot of a delivery that was read just now, if it was known before. */
    knownSlot(position: number): Slot | undefined {
      const known = ahead.get(position)
      if (known === undefined || known === 'settled') return known && { position, state: 'settled' }
      known.slot = { position, state: 'waiting' }
      return known.slot
    },
    /** Everything was read up to a position. */
    wasReadTo(end: number): void {
      for (const position of ahead.keys()) if (position <= end) ahead.delete(position)
    },
    /** Positions beyond what was read, in order. */
    settledAhead: (): number[] =>
      Array.from(ahead, ([position, state]) => (state === 'settled' ? position : 0))
        .filter(Boolean)
        .sort((one, other) => one - other),

    makeWaiting,
    /** All of them: after a restart, those that wait are sent before the others are read again. */
    makeAllBehindWait(first: Entry): void {
      for (const other of lanes.behind(first)) if (!other.isWaiting) makeWaiting(other)
    },
    countFailure(entry: Entry): void {
      if (entry.failures === 0) failing++
      entry.failures++
      entry.level++
    },
    /** A delivery is set aside: the store keeps it, and nobody tries it again. */
    setAside(entry: Entry, at: number): void {
      ledger.keep(rowOf(entry, at))
      finish(entry)
    },
    settle(entry: Entry): void {
      finish(entry)
      if (entry.isWaiting) ledger.settle(entry.position)
    },

    size: () => size,
    waiting: () => waiting,
    failing: () => failing,
    /** When the oldest was received; undefined without any. */
    oldestAt(): number | undefined {
      let oldest: number | undefined
      for (const { receivedAt } of lanes.entries()) oldest = Math.min(oldest ?? receivedAt, receivedAt)
      return oldest
    },
  }
}
