import type { PurgeStore } from '#src/store/store.ts'
import type { Database } from '../database.ts'
import { sqliteNoun } from '../nouns.ts'
import { rollUpStore } from '../roll-ups.ts'
import { bindOperations, type StoreThread, sendOperations } from '../thread/operations.ts'
import { wipeAttempts } from '../webhooks/wipe-attempts.ts'
import { isCounted, purgeLookUps, purgeReads } from './reads.ts'
import { purgeWrites } from './writes.ts'

const COUNTED_AT_ONCE = 10_000
const NOTHING = { deliveries: 0, orders: 0, payloadBytes: 0 }

/** The reader thread finds what is to go, so that deliveries wait only for its removal. */
export function sqlitePurges(database: Database, writer: StoreThread, reader: StoreThread): PurgeStore {
  const reads = sendOperations(purgeReads, reader, 'purges')
  const { remove, erase, wipePages, ...writes } = sendOperations(purgeWrites, writer, 'purges')
  const attempts = sendOperations({ wipeAttempts }, writer, 'webhooks')
  const rollUps = rollUpStore(sqliteNoun('rollUps', { database, writer, reader }))
  const lookUps = bindOperations(purgeLookUps, database)
  return {
    ...writes,
    endOf: reads.endOf,
    state: async (place) => lookUps.state(place),
    receivedAfter: async (position) => lookUps.receivedAfter(position),
    receivedBefore: async (time) => lookUps.receivedBefore(time),
    async page(page) {
      const { position, counted, ...found } = await reads.removable(page)
      if (page.dryRun || counted.deliveries === 0) return { ...counted, position }
      if (!isCounted(database, page.until)) {
        await rollUps.count(COUNTED_AT_ONCE)
        return { ...NOTHING, position: page.after }
      }
      return { ...(await remove({ ...found, before: page.before })), position }
    },
    // A file has no months.
    keepMonths: async () => ({ made: 0, dropped: [] }),
    async erase(customerId, after, look) {
      const { positions, position } = await reads.ofCustomer(customerId, after, look)
      return { deliveries: positions.length > 0 ? await erase(positions) : 0, position }
    },
    async wipePages(after, look) {
      if (after === 0) for (let next: number | null = 0; next !== null; ) next = await attempts.wipeAttempts(next)
      return wipePages(after, look)
    },
  }
}
