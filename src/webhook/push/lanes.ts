import { createDueHeap } from './due-heap.ts'

/** A delivery that an endpoint has not confirmed. Times are those of the clock that never jumps. */
export interface Queued {
  readonly position: number
  /** Deliveries of one lane are sent one after the other. */
  readonly lane: string
  /** When it was tried last; undefined if it was not. */
  triedAt: number | undefined
  /** Not to be tried before, whatever else is due: the endpoint asked for it. */
  notBefore: number
}

export interface Lanes<Entry extends Queued> {
  /** Adds a delivery behind those of its lane that have lower positions. If it is the first one, it is due at `dueAt`; 0 is now. */
  add(entry: Entry, dueAt: number): void
  /** Returns a delivery that is due, which counts as sent then. */
  take(now: number): Entry | undefined
  /** Like `take`, but disregards pauses: returns one that was never tried, else the one that was tried longest ago. */
  takeForTrial(now: number): Entry | undefined
  /** Keeps a delivery that was sent as the first one of its lane. */
  pause(entry: Entry, dueAt: number): void
  /** Removes a delivery that was sent: the next one of its lane is due now. */
  remove(entry: Entry): void
  /** The first delivery of the same lane. */
  first(entry: Entry): Entry
  /** The deliveries of the same lane that wait for the first one. */
  behind(entry: Entry): readonly Entry[]
  /** Sets a new time for each delivery that pauses, where `dueAt` returns one. */
  reschedule(dueAt: (entry: Entry) => number | undefined): void
  /** When `take` returns something next, unless a delivery is added or removed; undefined for never, 0 for now. */
  nextDueAt(): number | undefined
  /** The same for `takeForTrial`. */
  nextTrialAt(): number | undefined
  inFlight(): number
  entries(): Iterable<Entry>
}

interface Lane<Entry> {
  readonly entries: Entry[]
  state: 'ready' | 'paused' | 'sent'
  dueAt: number
}

export function createLanes<Entry extends Queued>(): Lanes<Entry> {
  const lanes = new Map<string, Lane<Entry>>()
  const ready = new Set<Lane<Entry>>()
  /** May hold outdated times of lanes, which do not count. */
  const paused = createDueHeap<Lane<Entry>>()
  let inFlight = 0

  const isCurrent = ({ dueAt, value }: { dueAt: number; value: Lane<Entry> }): boolean =>
    value.state === 'paused' && value.dueAt === dueAt

  const earliest = () => {
    for (let first = paused.peek(); first !== undefined; first = paused.peek()) {
      if (isCurrent(first)) return first
      paused.pop()
    }
    return undefined
  }

  const wait = (lane: Lane<Entry>, dueAt: number): void => {
    lane.state = 'paused'
    lane.dueAt = dueAt
    paused.push(dueAt, lane)
  }

  const makeReady = (lane: Lane<Entry>): void => {
    lane.state = 'ready'
    ready.add(lane)
  }

  const send = (lane: Lane<Entry>, now: number): Entry => {
    const [entry] = lane.entries as [Entry]
    ready.delete(lane)
    lane.state = 'sent'
    entry.triedAt = now
    inFlight++
    return entry
  }

  /** Lanes of which nothing is sent. */
  const resting = (): Lane<Entry>[] => [...lanes.values()].filter(({ state }) => state !== 'sent')
  const laneOf = (entry: Entry): Lane<Entry> => lanes.get(entry.lane) as Lane<Entry>

  return {
    add(entry, dueAt) {
      const lane = lanes.get(entry.lane) ?? { entries: [], state: 'ready' as const, dueAt }
      const first = lane.state === 'sent' ? 1 : 0
      let at = lane.entries.length
      while (at > first && (lane.entries[at - 1] as Entry).position > entry.position) at--
      lane.entries.splice(at, 0, entry)
      lanes.set(entry.lane, lane)
      if (at > 0) return
      ready.delete(lane)
      if (dueAt <= 0) makeReady(lane)
      else wait(lane, dueAt)
    },
    take(now) {
      for (let first = earliest(); first !== undefined && first.dueAt <= now; first = earliest()) {
        paused.pop()
        makeReady(first.value)
      }
      const [lane] = ready
      return lane && send(lane, now)
    },
    takeForTrial(now) {
      let chosen: Lane<Entry> | undefined
      let chosenAt = Number.POSITIVE_INFINITY
      for (const lane of resting()) {
        const [{ triedAt = Number.NEGATIVE_INFINITY, notBefore }] = lane.entries as [Entry]
        if (notBefore <= now && (chosen === undefined || triedAt < chosenAt)) {
          chosen = lane
          chosenAt = triedAt
        }
      }
      return chosen && send(chosen, now)
    },
    pause(entry, dueAt) {
      inFlight--
      wait(laneOf(entry), dueAt)
    },
    remove(entry) {
      const lane = laneOf(entry)
      lane.entries.shift()
      inFlight--
      if (lane.entries.length > 0) makeReady(lane)
      else lanes.delete(entry.lane)
    },
    first: (entry) => laneOf(entry).entries[0] as Entry,
    behind: (entry) => laneOf(entry).entries.slice(1),
    reschedule(dueAt) {
      for (const lane of lanes.values()) {
        const due = lane.state === 'paused' ? dueAt(lane.entries[0] as Entry) : undefined
        if (due !== undefined) wait(lane, due)
      }
    },
    nextDueAt: () => (ready.size > 0 ? 0 : earliest()?.dueAt),
    nextTrialAt() {
      const times = resting().map(({ entries: [entry] }) => (entry as Entry).notBefore)
      return times.length === 0 ? undefined : times.reduce((one, other) => Math.min(one, other))
    },
    inFlight: () => inFlight,
    *entries() {
      for (const lane of lanes.values()) yield* lane.entries
    },
  }
}
