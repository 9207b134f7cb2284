/** Positions in a block, as migration 0007 has them. */
export const BLOCK_SIZE = 4096

/** How many positions after the last block a walk looks at, also of other customers: usually all of them. */
export const LOOK_AFTER_BLOCKS = 2 * BLOCK_SIZE

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

/**
 * Walks back through the blocks of a customer, from the one before `start` to `lowest`, until it has found `wanted` positions.
 * It yields the newest and the oldest block to read next; the caller passes in their rows, the newest first.
 */
export function* walkBlocks(
  start: number,
  lowest: number,
  wanted: number,
): Generator<readonly [newest: number, oldest: number], FoundPositions, readonly BlockRow[]> {
  const positions: number[] = []
  let block = Math.floor((start - 1) / BLOCK_SIZE)
  const last = Math.max(lowest, block - MOST_BLOCKS)
  // Few look-ups for a customer with many deliveries, few steps for one with few.
  for (let span = 1; block >= last && positions.length < wanted; span *= 8) {
    const oldest = Math.max(last, block - span + 1)
    for (const row of yield [block, oldest]) positions.push(...positionsOf(row, start))
    block = oldest - 1
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
