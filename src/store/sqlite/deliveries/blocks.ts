import { BLOCK_SIZE, SPAN_BLOCKS } from '../../sql/purges.ts'
import type { Database } from '../database.ts'

const NEXT = `
  SELECT coalesce((SELECT max(block) + 1 FROM delivery_block), (SELECT min(position) / ${BLOCK_SIZE} FROM delivery)) AS block`

const CUSTOMERS = 'SELECT position, customer FROM delivery WHERE position >= $1 AND position < $2 ORDER BY position'

/** Another process may have added the block. */
const ADD = `
  INSERT OR IGNORE INTO delivery_block (block, customer, offsets)
  SELECT $1, json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each($2)`

const ADD_LIST = 'INSERT OR IGNORE INTO block_customers (block, customers) VALUES ($1, $2)'
const ADD_SPAN = 'INSERT OR IGNORE INTO span_customers (span, customers) VALUES ($1, $2)'

const LISTS = 'SELECT customers FROM block_customers WHERE block >= $1 AND block < $2'

export type Blocks = ReturnType<typeof createBlocks>

/**
 * Adds blocks of positions within the transactions of deliveries. It remembers the customers of the current block, because reading
 * them again would cost a delivery several percent.
 */
export function createBlocks(database: Database) {
  /** The customers of the positions from `start` on, without a gap. */
  let start = 0
  let customers: number[] = []
  let next: number | undefined

  const offsetsOf = (block: number): Map<number, number[]> => {
    const first = block * BLOCK_SIZE
    const offsets = new Map<number, number[]>()
    const add = (customer: number, offset: number): void => {
      const known = offsets.get(customer)
      if (known === undefined) offsets.set(customer, [offset])
      else known.push(offset)
    }
    if (start <= first) {
      for (let offset = 0; offset < BLOCK_SIZE; offset++) add(customers[first - start + offset] as number, offset)
    } else {
      const rows = database.all(CUSTOMERS, first, first + BLOCK_SIZE)
      for (const { customer, position } of rows) add(customer as number, (position as number) - first)
    }
    return offsets
  }

  const addBlock = (block: number): void => {
    const offsets = offsetsOf(block)
    if (offsets.size === 0) offsets.set(0, [])
    const rows = Array.from(offsets, ([customer, each]) => [customer, each.join(',')])
    database.run(ADD, block, JSON.stringify(rows.sort(byCustomer)))
    database.run(ADD_LIST, block, listOf([...offsets.keys()]))
    if (block % SPAN_BLOCKS === 0) {
      const lists = database.all(LISTS, block - SPAN_BLOCKS, block)
      if (lists.length > 0)
        database.run(ADD_SPAN, block / SPAN_BLOCKS - 1, together(lists.map(({ customers }) => customers as Uint8Array)))
    }
    const kept = Math.max(0, (block + 1) * BLOCK_SIZE - start)
    start += Math.min(kept, customers.length)
    customers = customers.slice(kept)
  }

  return {
    stored(position: number, customer: number): void {
      if (position !== start + customers.length) {
        start = position
        customers = []
      }
      customers.push(customer)
    },

    /** Adds one block at most. */
    addComplete(lastPosition: number): void {
      next ??= database.get(NEXT)?.block as number
      if (lastPosition >= (next + 1) * BLOCK_SIZE - 1) addBlock(next++)
    },

    /** Called when a transaction was rolled back. */
    forget(): void {
      start = 0
      customers = []
      next = undefined
    },
  }
}

const byCustomer = ([one]: (string | number)[], [other]: (string | number)[]): number => Number(one) - Number(other)

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

/** Returns the bits that any of the lists has. */
function together(lists: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(Math.max(...lists.map(({ length }) => length)))
  for (const list of lists) for (const [place, byte] of list.entries()) all[place] = (all[place] as number) | byte
  return all
}

/** Returns which byte of a list tells whether a customer is in it, counted from 1, and all values of that byte that say so. */
export function placeInList(customer: number): readonly [place: number, values: Uint8Array] {
  const bit = bitOf(customer)
  return [(bit >> 3) + 1, BYTES_WITH[bit & 7] as Uint8Array]
}
