import type { FeedPage } from '#src/purchase/feed/feed.rule.ts'
import type { FeedPlace } from '#src/purchase/feed-place.ts'

/** A page that was read, without its deliveries. */
export type ReadPage = Pick<FeedPage, 'place' | 'placeAt'>

/** What became of a delivery that was read. Only open ones hold the place. */
export interface Slot {
  readonly position: number
  state: 'open' | 'waiting' | 'settled'
}

interface Segment {
  readonly slots: readonly Slot[]
  /** Of the page that the slots came with. */
  readonly placeAt: ReadPage['placeAt']
  end: FeedPlace
  /** The slots before this index are behind the place. */
  passed: number
}

/**
 * The deliveries that were read after the place. The place moves over a delivery once it is settled or waits in the store, with the
 * generation of the page that it came with: a purge since then must be noticed.
 */
export interface PushWindow {
  /** Adds a page, without what is left out. */
  append(slots: readonly Slot[], page: ReadPage): void
  /** Up to where everything is settled or waits. */
  place(): FeedPlace
  /** Up to where pages were read. */
  readTo(): FeedPlace
  /** Reads on from another generation at the same position. */
  readFrom(place: FeedPlace): void
  /** Slots after the place. */
  size(): number
  /** Positions after the place that are settled, ascending. */
  settled(): number[]
  hasOpen(): boolean
}

export function createPushWindow(start: FeedPlace): PushWindow {
  const segments: Segment[] = []
  let place = start
  let read = start
  let size = 0

  const advance = (): void => {
    for (let segment = segments[0]; segment !== undefined; segment = segments[0]) {
      const from = segment.passed
      while (segment.passed < segment.slots.length && segment.slots[segment.passed]?.state !== 'open') segment.passed++
      size -= segment.passed - from
      const last = segment.slots[segment.passed - 1]
      if (segment.passed < segment.slots.length) {
        if (segment.passed > from && last !== undefined) place = segment.placeAt(last.position)
        return
      }
      place = segment.end
      segments.shift()
    }
  }

  return {
    append(slots, { place: end, placeAt }) {
      const last = segments.at(-1)
      // Pages of which everything is left out must not pile up.
      if (slots.length === 0 && last !== undefined) last.end = end
      else segments.push({ slots, placeAt, end, passed: 0 })
      size += slots.length
      read = end
      advance()
    },
    place() {
      advance()
      return place
    },
    readTo: () => read,
    readFrom(from) {
      read = from
      if (segments.length === 0) place = from
    },
    size() {
      advance()
      return size
    },
    settled() {
      advance()
      const positions: number[] = []
      for (const { slots, passed } of segments) {
        for (let at = passed; at < slots.length; at++) {
          const { position, state } = slots[at] as Slot
          if (state === 'settled') positions.push(position)
        }
      }
      return positions
    },
    hasOpen: () => size > 0,
  }
}
