import type { Entry, LIMITS } from './lanes.ts'

/** The deliveries that were read after the place, which moves over each once it is kept or settled. */
export function createWindow(start: { readonly position: number; readonly confirmed: readonly number[] }) {
  /** In order. */
  let entries: Entry[] = []
  let readTo = start.position
  /** What is settled or set aside beyond what was read. */
  const ahead = new Set(start.confirmed)

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
