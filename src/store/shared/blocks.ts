/** Positions in a block, as in `functions/blocks.sql` of PostgreSQL. */
export const BLOCK_SIZE = 4096

/** How many positions after the last block a walk looks at, also of other customers: usually all of them. */
export const LOOK_AFTER_BLOCKS = 2 * BLOCK_SIZE

/** Bits in the list of the customers of a block. Customers whose numbers differ by a multiple of it share a bit. */
const LIST_BITS = 8192

const BYTES = Array.from({ length: 256 }, (_, byte) => byte)
const BYTES_WITH = Array.from({ length: 8 }, (_, bit) => Buffer.from(BYTES.filter((byte) => (byte >> bit) & 1)))

const bitOf = (customer: number): number => customer % LIST_BITS

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
