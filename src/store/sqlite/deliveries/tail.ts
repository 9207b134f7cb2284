import { all, type Work } from '../../sql/work.ts'

const CUSTOMERS = 'SELECT position, customer FROM delivery WHERE position >= $1 AND position <= $2 ORDER BY position'

/** Stands where a delivery was removed: no customer has this number. */
const REMOVED = 0

/** Finds the deliveries of customers among the latest ones, which no block has yet. */
export type Tail = ReturnType<typeof createTail>

/** Remembers whose they are, so that each walk only reads those that came since the one before. It is for one connection. */
export function createTail() {
  let start = 0
  /** The number of the customer of each position, from `start` on. */
  let customers: number[] = []

  function* readUpTo(last: number): Work<void> {
    const rows = yield* all(CUSTOMERS, start + customers.length, last)
    for (const { position, customer } of rows) {
      while (start + customers.length < (position as number)) customers.push(REMOVED)
      customers.push(customer as number)
    }
  }

  /** Returns up to `most` positions of a customer from `first` up to `last`, the newest first. */
  return function* (customer: number, first: number, last: number, most: number): Work<number[]> {
    if (first < start || first > start + customers.length) customers = []
    else customers.splice(0, first - start)
    start = first
    yield* readUpTo(last)
    const found: number[] = []
    for (let index = last - first; index >= 0 && found.length < most; index--) {
      if (customers[index] === customer) found.push(first + index)
    }
    return found
  }
}
