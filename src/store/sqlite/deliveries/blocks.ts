import { BLOCK_SIZE, listOf } from '#src/store/shared/blocks.ts'
import type { Database } from '../database.ts'

const NEXT = `
  SELECT coalesce((SELECT max(block) + 1 FROM delivery_block), (SELECT min(position) / ${BLOCK_SIZE} FROM delivery)) AS block`

const CUSTOMERS = 'SELECT position, customer FROM delivery WHERE position >= $1 AND position < $2 ORDER BY position'

/** Another process may have added the block. */
const ADD = `
  INSERT OR IGNORE INTO delivery_block (block, customer, offsets)
  SELECT $1, json_extract(value, '$[0]'), json_extract(value, '$[1]') FROM json_each($2)`

const NEXT_LIST = `
  SELECT coalesce((SELECT max(block) + 1 FROM block_customers), (SELECT min(block) FROM delivery_block)) AS block`

const CUSTOMERS_OF_BLOCK = 'SELECT customer FROM delivery_block WHERE block = $1'

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
  /** The next block whose customers are to be listed. */
  let nextList: number | undefined

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

  /** Returns the customers that have deliveries in it. */
  const addBlock = (block: number): number[] => {
    const offsets = offsetsOf(block)
    if (offsets.size === 0) offsets.set(0, [])
    const rows = Array.from(offsets, ([customer, each]) => [customer, each.join(',')])
    database.run(ADD, block, JSON.stringify(rows.sort(byCustomer)))
    const kept = Math.max(0, (block + 1) * BLOCK_SIZE - start)
    start += Math.min(kept, customers.length)
    customers = customers.slice(kept)
    return [...offsets.keys()]
  }

  const addList = (block: number, known: readonly number[] | undefined): void => {
    const all = known ?? database.all(CUSTOMERS_OF_BLOCK, block).map(({ customer }) => customer as number)
    database.run(ADD_LIST, block, listOf(all))
  }

  return {
    stored(position: number, customer: number): void {
      if (position !== start + customers.length) {
        start = position
        customers = []
      }
      customers.push(customer)
    },

    /** Adds one block and one list at most, so that a store of an earlier version catches up gradually. */
    addComplete(lastPosition: number): void {
      next ??= database.get(NEXT)?.block as number
      const added = lastPosition < (next + 1) * BLOCK_SIZE - 1 ? undefined : addBlock(next++)
      nextList ??= (database.get(NEXT_LIST)?.block as number | null) ?? next
      if (nextList >= next) return
      addList(nextList, nextList === next - 1 ? added : undefined)
      nextList++
    },

    /** Called when a transaction was rolled back. */
    forget(): void {
      start = 0
      customers = []
      next = undefined
      nextList = undefined
    },
  }
}

const byCustomer = ([one]: (string | number)[], [other]: (string | number)[]): number => Number(one) - Number(other)
