import type { Query } from '../database.ts'

/** Deliveries of this process after which it looks whether a block is complete. */
const EVERY = 1024

/** Adds blocks of positions beside the deliveries, which do not wait for it. */
export function createBlocks(query: Query) {
  /** Counts towards the next look. The first delivery causes one, for what `teslim copy` or a server that was killed has left. */
  let since = EVERY
  let running: Promise<void> | undefined

  const addBlock = async (): Promise<void> => {
    try {
      const more = (await query('SELECT add_block_1() AS more')).rows[0]?.more
      if (more === true) since = EVERY
    } catch {
      // Without new blocks reading is slower; the next look tries again.
    }
    running = undefined
  }

  return {
    stored(deliveries: number): void {
      since += deliveries
      if (since < EVERY || running !== undefined) return
      since = 0
      running = addBlock()
    },
    settled: async (): Promise<void> => running,
  }
}
