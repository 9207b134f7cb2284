import { BLOCK_SIZE, LOOK_AFTER_BLOCKS } from '#src/store/shared/blocks.ts'

/** Blocks that one walk looks into. */
const MOST_BLOCKS = 4096

type BlockRow = Readonly<Record<string, unknown>>

/** Returns what a walk that begins before `start` looks at after the last block: positions before `top`, from `end` on. */
export function afterBlocks(start: number, { highest, last }: BlockRow) {
  const blocksEnd = highest === null ? 0 : ((highest as number) + 1) * BLOCK_SIZE
  const top = Math.min(start, Number(last ?? 0) + 1)
  return { blocksEnd, top, end: Math.max(blocksEnd, top - LOOK_AFTER_BLOCKS) }
}

export interface FoundPositions {
  /** The newest first. */
  readonly positions: readonly number[]
  /** All positions from here on were looked at; 0 if there is nothing before. */
  readonly end: number
}

/** What a walk reads next: blocks from `newest` back to `oldest`. */
export interface BlocksToRead {
  readonly newest: number
  readonly oldest: number
  /** Whether the customers of these blocks are listed. */
  readonly listed: boolean
  /** Rows that are certainly enough. */
  readonly most: number
}

/**
 * Walks back through the blocks of a customer, from the one before `start` to the lowest, until it has found `wanted` positions.
 * It yields the blocks to read next; the caller passes in their rows, the newest first.
 */
export function* walkBlocks(
  start: number,
  edges: BlockRow,
  wanted: number,
): Generator<BlocksToRead, FoundPositions, readonly BlockRow[]> {
  const positions: number[] = []
  const lowest = edges.lowest as number
  const lastListed = (edges.listed as number | null) ?? -1
  let block = Math.floor((start - 1) / BLOCK_SIZE)
  const last = Math.max(lowest, block - MOST_BLOCKS)
  // Few look-ups for a customer with many deliveries, few steps for one with few. With lists, the look-ups stop at `most`.
  for (let span = 1; block >= last && positions.length < wanted; ) {
    const listed = block <= lastListed
    const oldest = Math.max(last, block - span + 1, listed ? 0 : lastListed + 1)
    // Each row has a position, except the one of the block that `start` is in: with so many rows there is one too many.
    const most = wanted - positions.length + 2
    for (const row of yield { newest: block, oldest, listed, most }) positions.push(...positionsOf(row, start))
    block = oldest - 1
    span = listed && span > 1 ? MOST_BLOCKS : 8 * span
  }
  if (positions.length > wanted) {
    const found = positions.slice(0, wanted)
    return { positions: found, end: found.at(-1) as number }
  }
  return { positions, end: block < lowest ? 0 : (block + 1) * BLOCK_SIZE }
}

const positionsOf = ({ block, offsets }: BlockRow, before: number): number[] =>
  (offsets as string)
    .split(',')
    .map((offset) => (block as number) * BLOCK_SIZE + Number(offset))
    .filter((position) => position < before)
    .reverse()
