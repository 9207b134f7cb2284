import { numberOf } from '../../sql/deliveries/orders.ts'
import { allFilterValues, firstThatFit, type WalkBackOf } from '../../sql/deliveries/walks.ts'
import { BLOCK_SIZE, SPAN_BLOCKS } from '../../sql/purges.ts'
import { all, get, type Row, type Work } from '../../sql/work.ts'
import { sqlite } from '../dialect.ts'
import { placeInList } from './blocks.ts'

/** Positions after the last block that a walk looks at, also of other customers: usually all of them. */
const LOOK_AFTER_BLOCKS = 2 * BLOCK_SIZE

/** Blocks that one walk looks into. */
const MAX_BLOCKS = 4096

const EDGES = `
  SELECT (SELECT min(block) FROM delivery_block) AS lowest, (SELECT max(block) FROM delivery_block) AS highest,
         (SELECT max(span) FROM span_customers) AS span, (SELECT max(position) FROM delivery) AS last`

const HAS = (list: string): string =>
  `length(${list}.customers) >= $4 AND instr($5, substr(${list}.customers, $4, 1)) > 0`

const BLOCKS = `
  SELECT k.block, k.offsets
    FROM block_customers l CROSS JOIN delivery_block k ON k.block = l.block AND k.customer = $3
   WHERE l.block <= $1 AND l.block >= $2 AND ${HAS('l')}
   ORDER BY l.block DESC
   LIMIT $6`

/** Passes over each span of 64 blocks whose list lacks the customer. */
const SPANNED_BLOCKS = `
  SELECT k.block, k.offsets
    FROM span_customers s
   CROSS JOIN block_customers l ON l.block >= s.span * ${SPAN_BLOCKS} AND l.block < (s.span + 1) * ${SPAN_BLOCKS}
   CROSS JOIN delivery_block k ON k.block = l.block AND k.customer = $3
   WHERE s.span <= $1 / ${SPAN_BLOCKS} AND s.span >= $2 / ${SPAN_BLOCKS} AND ${HAS('s')} AND l.block <= $1 AND l.block >= $2 AND ${HAS('l')}
   ORDER BY s.span DESC, l.block DESC
   LIMIT $6`

/** Takes positions in the order in which it returns them. */
const LISTED = 'json_each($1) CROSS JOIN delivery d ON d.position = json_each.value WHERE $2'
const AT = firstThatFit(sqlite, LISTED, '')

interface FoundPositions {
  /** The newest first. */
  readonly positions: readonly number[]
  /** All positions from here on were looked at; 0 if there is nothing before. */
  readonly end: number
}

/** PostgreSQL does this in a function, because each round trip would cost as much as reading a page. */
export function createBlockWalk(): WalkBackOf {
  const tail = createTail()
  return function* (customerId, position, filter, { limit, scan }) {
    const { positions, end } = yield* positionsBefore(tail, yield* numberOf(customerId), position, scan)
    return { rows: yield* all(AT, positions, true, ...allFilterValues(filter), limit), end }
  }
}

/** Walks back through the deliveries of a customer, up to `look` of them: the latest ones, which have no block yet, and those in blocks. */
function* positionsBefore(tail: Tail, customer: number, before: number, look: number): Work<FoundPositions> {
  const edges = (yield* get(EDGES)) as Row
  const blocksEnd = edges.highest === null ? 0 : ((edges.highest as number) + 1) * BLOCK_SIZE
  const top = Math.min(before, Number(edges.last ?? 0) + 1)
  const end = Math.max(blocksEnd, top - LOOK_AFTER_BLOCKS)
  const newest = top > end ? yield* tail(customer, end, top - 1, look) : []
  if (newest.length === look) return { positions: newest, end: newest.at(-1) as number }
  if (end > blocksEnd || blocksEnd === 0) return { positions: newest, end }
  const older = yield* walkBlocks(customer, Math.min(before, blocksEnd), edges, look - newest.length)
  return { positions: [...newest, ...older.positions], end: older.end }
}

/** Walks back through the blocks of a customer, from the one before `start` to the lowest, until it has found `wanted` positions. */
function* walkBlocks(customer: number, start: number, edges: Row, wanted: number): Work<FoundPositions> {
  const positions: number[] = []
  const lowest = edges.lowest as number
  let block = Math.floor((start - 1) / BLOCK_SIZE)
  const last = Math.max(lowest, block - MAX_BLOCKS)
  const spansEnd = edges.span === null ? 0 : ((edges.span as number) + 1) * SPAN_BLOCKS
  // Few look-ups for a customer with many deliveries, few steps for one with few: one block, eight, those without a span, and then all.
  for (let step = 1; block >= last && positions.length < wanted; step = step > 1 ? MAX_BLOCKS : 8) {
    const isSpanned = step === MAX_BLOCKS && block < spansEnd
    const end = step === MAX_BLOCKS && !isSpanned ? spansEnd : 0
    const oldest = Math.max(last, end, block - step + 1)
    // Each row has a position, except the one of the block that `start` is in: with so many rows there is one too many.
    const most = wanted - positions.length + 2
    const rows = yield* all(
      isSpanned ? SPANNED_BLOCKS : BLOCKS,
      block,
      oldest,
      customer,
      ...placeInList(customer),
      most,
    )
    // One more than is wanted tells that there are more.
    for (const row of rows) positions.push(...positionsOf(row, start, wanted + 1 - positions.length))
    block = oldest - 1
  }
  if (positions.length > wanted) {
    const found = positions.slice(0, wanted)
    return { positions: found, end: found.at(-1) as number }
  }
  return { positions, end: block < lowest ? 0 : (block + 1) * BLOCK_SIZE }
}

/** Returns the last `most` positions of a block before one, the newest first. Reads the text from its end: a page needs little of it. */
function positionsOf({ block, offsets }: Row, before: number, most: number): number[] {
  const text = offsets as string
  const found: number[] = []
  for (let end = text.length; end > 0 && found.length < most; ) {
    const comma = text.lastIndexOf(',', end - 1)
    const position = (block as number) * BLOCK_SIZE + Number(text.slice(comma + 1, end))
    if (position < before) found.push(position)
    end = comma
  }
  return found
}

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
