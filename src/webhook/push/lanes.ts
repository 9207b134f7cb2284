import type { DeliverySummary, DueDelivery, Laned, WaitingDelivery } from '#src/store/store.ts'
import { laned } from '../lane.ts'

/** A delivery on its way to an endpoint. A purge may have removed one that waited in the store. */
export interface Item extends Laned {
  readonly receiptId: string | null
  readonly receivedAt: number | null
  /** Of the payload. */
  readonly bytes: number
}

export interface Entry extends Item {
  /** As the store keeps it, or will once the next save is stored; undefined if it does not. */
  row: WaitingDelivery | undefined
  /** Only open entries hold the place. */
  state: 'open' | 'kept' | 'settled'
  wasProbe: boolean
  wasRetry: boolean
}

export const LIMITS = {
  /** Deliveries after the place that were read; a page is read when there is room for one, and for its payloads. */
  window: 512,
  page: 256,
  bytes: 4 * 1024 * 1024,
  inFlight: 32,
  /** Of those, deliveries that waited in the store: while others wait, and while none does. */
  retries: 8,
  mostRetries: 24,
  /** Lanes in memory that waited in the store, each with a few deliveries behind its first one. */
  lanes: 32,
  /** Asked for at once, with those that were sent and are not yet saved. */
  asked: 256,
}

export const itemOf = (delivery: DeliverySummary): Item => {
  const { receiptId, receivedAt, payloadBytes: bytes } = delivery
  return { ...laned(delivery), receiptId, receivedAt, bytes }
}

/** The row of a delivery that was not tried. */
export const untried = ({ position, lane }: Laned): WaitingDelivery => {
  const never = { failures: 0, firstFailedAt: null, nextAt: null, setAsideAt: null, lastError: null }
  return { position, lane, ...never, answered: false }
}

export const entryOf = (item: Item, row?: WaitingDelivery): Entry => {
  const { position, lane, receiptId, receivedAt, bytes } = item
  const state = row === undefined ? 'open' : 'kept'
  return { position, lane, receiptId, receivedAt, bytes, row, state, wasProbe: false, wasRetry: false }
}

export const keptEntry = ({ receiptId, receivedAt, ...row }: DueDelivery): Entry =>
  entryOf({ position: row.position, lane: row.lane, receiptId, receivedAt, bytes: 0 }, row)

/** The lanes in memory, each in order. The first of each is under way or ready. */
export function createLanes(limits: typeof LIMITS, onLeft: (lane: number) => void) {
  const lanes = new Map<number, Entry[]>()
  const fresh = new Set<Entry>()
  const retries = new Set<Entry>()
  const underWay = new Set<Entry>()
  let retriesUnderWay = 0

  const makeReady = (entry: Entry): void => void (entry.row === undefined ? fresh : retries).add(entry)

  const end = (entry: Entry): void => {
    fresh.delete(entry)
    retries.delete(entry)
    if (underWay.delete(entry) && entry.wasRetry) retriesUnderWay--
  }

  const forget = (lane: number): void => {
    lanes.delete(lane)
    onLeft(lane)
  }

  return {
    has: (lane: number): boolean => lanes.has(lane),
    first: (lane: number): Entry | undefined => lanes.get(lane)?.[0],
    isUnderWay: (entry: Entry): boolean => underWay.has(entry),
    /** Adds a lane that is not in memory. */
    add(entries: [Entry, ...Entry[]]): void {
      lanes.set(entries[0].lane, entries)
      makeReady(entries[0])
    },
    append(entry: Entry): void {
      lanes.get(entry.lane)?.push(entry)
    },
    /** What is sent next. A silent endpoint is tried with new deliveries first: those that it did not answer may be what silences it. */
    ready(isSilent: boolean): Entry | undefined {
      const most = fresh.size > 0 ? limits.retries : limits.mostRetries
      const isTurn = !(isSilent && fresh.size > 0) && retriesUnderWay < most
      const [entry] = isTurn && retries.size > 0 ? retries : fresh
      return entry
    },
    readyCount: (): number => fresh.size + retries.size,
    underWayCount: (): number => underWay.size,
    begin(entry: Entry, isProbe: boolean): void {
      end(entry)
      underWay.add(entry)
      entry.wasProbe = isProbe
      entry.wasRetry = entry.row !== undefined
      if (entry.wasRetry) retriesUnderWay++
    },
    /** It is ready again. */
    postpone(entry: Entry): void {
      end(entry)
      makeReady(entry)
    },
    /** Removes the first of a lane. */
    finish(entry: Entry): void {
      end(entry)
      const lane = lanes.get(entry.lane)
      lane?.shift()
      if (lane?.[0] === undefined) forget(entry.lane)
      else makeReady(lane[0])
    },
    /** Removes a lane whose entries the store keeps from now on. What is under way stays. */
    leave(lane: number, wait: (entry: Entry) => void): void {
      const entries = lanes.get(lane) ?? []
      for (const entry of entries) wait(entry)
      const [first] = entries
      if (first !== undefined && underWay.has(first)) {
        lanes.set(lane, [first])
        return
      }
      if (first !== undefined) end(first)
      forget(lane)
    },
    /** Lanes that the store keeps. */
    keptCount(): number {
      let count = 0
      for (const [first] of lanes.values()) if (first?.row !== undefined) count++
      return count
    },
    entries: (): Entry[] => [...lanes.values()].flat(),
  }
}

/** The deliveries that were read after the place, which moves over each once it is kept or settled. */
export function createWindow(start: number, confirmed: readonly number[]) {
  /** In order. */
  let entries: Entry[] = []
  let readTo = start
  /** What is settled or set aside beyond what was read. */
  const ahead = new Set(confirmed)

  const place = (): number => {
    const open = entries.findIndex(({ state }) => state === 'open')
    if (open !== 0) entries = open < 0 ? [] : entries.slice(open)
    return entries[0] === undefined ? readTo : entries[0].position - 1
  }

  return {
    /** Every delivery up to here is settled or kept. */
    place,
    readTo: (): number => readTo,
    /** Begins again before what was read, because deliveries were lost. */
    readFrom(position: number): void {
      readTo = position
      ahead.clear()
    },
    add: (entry: Entry): void => void entries.push(entry),
    wasReadTo(position: number): void {
      readTo = position
      for (const each of ahead) if (each <= position) ahead.delete(each)
    },
    isAhead: (position: number): boolean => ahead.has(position),
    /** Remembers what needs not be sent when it is read. */
    passed(position: number): void {
      if (position > readTo) ahead.add(position)
    },
    entries: (): readonly Entry[] => entries,
    /** Whether there is room for another page, and for its payloads besides those that are not under way. */
    hasRoom(limits: typeof LIMITS, isUnderWay: (entry: Entry) => boolean): boolean {
      place()
      if (entries.length > limits.window - limits.page) return false
      let bytes = 0
      for (const entry of entries) if (entry.state === 'open' && !isUnderWay(entry)) bytes += entry.bytes
      return bytes < limits.bytes
    },
  }
}
