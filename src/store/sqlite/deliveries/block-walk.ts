import { BLOCK_SIZE, LOOK_AFTER_BLOCKS, placeInList } from '#src/store/shared/blocks.ts'
import type { Database, Row } from '../database.ts'
import { tailOf } from './tail.ts'

/** Blocks that one walk looks into. */
const MOST_BLOCKS = 4096

const EDGES = `
  SELECT (SELECT min(block) FROM delivery_block) AS lowest, (SELECT max(block) FROM delivery_block) AS highest,
         (SELECT max(position) FROM delivery) AS last`

const BLOCKS = `
  SELECT k.block, k.offsets
    FROM block_customers l CROSS JOIN delivery_block k ON k.block = l.block AND k.customer = $3
   WHERE l.block <= $1 AND l.block >= $2 AND length(l.customers) >= $4 AND instr($5, substr(l.customers, $4, 1)) > 0
   ORDER BY l.block DESC
   LIMIT $6`

interface FoundPositions {
  /** The newest first. */
  readonly positions: readonly number[]
  /** All positions from here on were looked at; 0 if there is nothing before. */
  readonly end: number
}

/** Walks back through the deliveries of a customer, up to `look` of them: the latest ones, which have no block yet, and those in blocks. */
export function positionsBefore(database: Database, customer: number, before: number, look: number): FoundPositions {
  const edges = database.get(EDGES) as Row
  const blocksEnd = edges.highest === null ? 0 : ((edges.highest as number) + 1) * BLOCK_SIZE
  const top = Math.min(before, Number(edges.last ?? 0) + 1)
  const end = Math.max(blocksEnd, top - LOOK_AFTER_BLOCKS)
  const newest = top > end ? tailOf(database)(customer, end, top - 1, look) : []
  if (newest.length === look) return { positions: newest, end: newest.at(-1) as number }
  if (end > blocksEnd || blocksEnd === 0) return { positions: newest, end }
  const older = walkBlocks(database, customer, Math.min(before, blocksEnd), edges, look - newest.length)
  return { positions: [...newest, ...older.positions], end: older.end }
}

/** Walks back through the blocks of a customer, from the one before `start` to the lowest, until it has found `wanted` positions. */
function walkBlocks(database: Database, customer: number, start: number, edges: Row, wanted: number): FoundPositions {
  const positions: number[] = []
  const lowest = edges.lowest as number
  let block = Math.floor((start - 1) / BLOCK_SIZE)
  const last = Math.max(lowest, block - MOST_BLOCKS)
  // Few look-ups for a customer with many deliveries, few steps for one with few: one block, eight, and then all.
  for (let span = 1; block >= last && positions.length < wanted; span = span > 1 ? MOST_BLOCKS : 8) {
    const oldest = Math.max(last, block - span + 1)
    // Each row has a position, except the one of the block that `start` is in: with so many rows there is one too many.
    const most = wanted - positions.length + 2
    const rows = database.all(BLOCKS, block, oldest, customer, ...placeInList(customer), most)
    for (const row of rows) positions.push(...positionsOf(row, start))
    block = oldest - 1
  }
  if (positions.length > wanted) {
    const found = positions.slice(0, wanted)
    return { positions: found, end: found.at(-1) as number }
  }
  return { positions, end: block < lowest ? 0 : (block + 1) * BLOCK_SIZE }
}

const positionsOf = ({ block, offsets }: Row, before: number): number[] =>
  (offsets as string)
    .split(',')
    .map((offset) => (block as number) * BLOCK_SIZE + Number(offset))
    .filter((position) => position < before)
    .reverse()
