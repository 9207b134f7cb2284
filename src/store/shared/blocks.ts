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

/** Bits in the list of the customers of a block. Customers whose numbers differ by a multiple of it share a bit. */
const LIST_BITS = 8192

const BYTES = Array.from({ length: 256 }, (_, byte) => byte)
const BYTES_WITH = Array.from({ length: 8 }, (_, bit) => Buffer.from(BYTES.filter((byte) => (byte >> bit) & 1)))

export const bitOf = (customer: number): number => customer % LIST_BITS

/** Returns the bits of customers as bytes, the lowest bit first, as far as needed and one byte at least. */
export function listOf(customers: readonly number[]): Uint8Array {
  const bits = customers.map(bitOf)
  const list = new Uint8Array(Math.floor(Math.max(0, ...bits) / 8) + 1)
  for (const bit of bits) list[bit >> 3] = (list[bit >> 3] as number) | (1 << (bit & 7))
  return list
}

/** Returns which byte of a list tells whether a customer is in it, counted from 1, and all values of that byte that say so. */
export function placeInList(customer: number): readonly [place: number, values: Uint8Array] {
  const bit = bitOf(customer)
  return [(bit >> 3) + 1, BYTES_WITH[bit & 7] as Uint8Array]
}
