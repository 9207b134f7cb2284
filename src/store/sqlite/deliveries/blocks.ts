import { BLOCK_SIZE, listOf } from '#src/store/shared/blocks.ts'
import type { Database } from '../database.ts'

const NEXT = `
  SELECT coalesce((SELECT max(block) + 1 FROM delivery_block), (SELECT min(position) / ${BLOCK_SIZE} FROM delivery)) AS block`

const CUSTOMERS = 'SELECT position, customer FROM delivery WHERE position >= $1 AND position < $2 ORDER BY position'

/** Another process may have added the block. */
const ADD = `
  INSERT OR IGNORE INTO delivery_block (block, customer, offsets)
  SELECT $1, json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each($2)`

const ADD_LIST = 'INSERT OR IGNORE INTO block_customers (block, customers) VALUES ($1, $2)'

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
