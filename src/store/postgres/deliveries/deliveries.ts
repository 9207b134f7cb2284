import { AppError } from '#src/lib/app-error.ts'
import { createBatcher } from '#src/lib/batcher.ts'
import { deliveryReads } from '#src/store/sql/deliveries/deliveries.ts'
import { filterValues, type WalkBackOf } from '#src/store/sql/deliveries/walks.ts'
import { all } from '#src/store/sql/work.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import type { DeliveryStore, NewDelivery, QueueLimits, Receipt } from '#src/store/store.ts'
import type { CustomerNumbers } from '../customer-numbers.ts'
import type { Database } from '../database.ts'
import { postgres } from '../dialect.ts'
import { postgresNoun } from '../nouns.ts'
import { addBatch, inRounds, outcomesOf, relate } from './batch.ts'
import { createBlocks } from './blocks.ts'
import { createCommitWatch } from './commit-watch.ts'
import { foresee } from './foresight.ts'
import { LOST } from './lost.ts'

const lastLeft = (place: string): string => `SELECT last_position FROM (${LOST(place)}) l`

/** Ends with a row that has no receipt, at the oldest position that was looked at. */
const BEFORE_OF_CUSTOMER = `
  SELECT $1 AS customer_id, d.* FROM deliveries_before_1($1, $2, $3, $4, $5, $6, $7, $8, $9::boolean::integer) d`

const walkBackOf: WalkBackOf = function* (customerId, position, filter, { limit, scan }) {
  const [, ...filters] = filterValues(filter)
  const rows = yield* all(BEFORE_OF_CUSTOMER, customerId, position, scan, limit, ...filters)
  return { rows: rows.slice(0, -1), end: rows.at(-1)?.position as number }
}

interface PostgresDeliveries extends DeliveryStore {
  drained(): Promise<void>
}

export function postgresDeliveries(
  database: Database,
  numbers: CustomerNumbers,
  limits: QueueLimits,
): PostgresDeliveries {
  const { query, storeBatch } = database
  const { watch, close } = createCommitWatch(database)
  const blocks = createBlocks(query)
  let alone: Promise<unknown> | undefined
  let lookedUp: Promise<unknown> = Promise.resolve()
  const batcher = createBatcher<NewDelivery, Receipt>({
    bytesOf: ({ payload }) => payload.length,
    maxItems: limits.maxDeliveries,
    maxBytes: limits.maxBytes,
    whenFull: () => new AppError(storeErrors.overloaded),
    longestWaitMilliseconds: limits.longestWaitMilliseconds,
    monotonic: () => performance.now(),
    commit,
  })

  async function commit(deliveries: readonly NewDelivery[]): Promise<(Receipt | Error)[]> {
    await alone
    const rounds = inRounds(deliveries)
    if (rounds.length === 1) return store(deliveries)
    // The next batch waits for all rounds of this one.
    const stored = storeRounds(deliveries, rounds)
    alone = stored
      .catch(() => undefined)
      .finally(() => {
        alone = undefined
      })
    return stored
  }

  async function storeRounds(deliveries: readonly NewDelivery[], rounds: number[][]): Promise<(Receipt | Error)[]> {
    const outcomes = new Array<Receipt | Error>(deliveries.length)
    for (const places of rounds) {
      const stored = await store(places.map((place) => deliveries[place] as NewDelivery))
      for (const [index, place] of places.entries()) outcomes[place] = stored[index] as Receipt | Error
    }
    return outcomes
  }

  async function store(deliveries: readonly NewDelivery[]): Promise<(Receipt | Error)[]> {
    try {
      const batch = relate(deliveries)
      // Looking up in turn keeps the next batch from overtaking this one.
      const looked = lookedUp.then(() => numbers.of(deliveries.map(({ customerId }) => customerId)))
      lookedUp = looked.catch(() => undefined)
      const known = await looked
      const { rows } = await storeBatch((parameters) => addBatch(batch, known, parameters))
      blocks.stored(deliveries.length)
      return outcomesOf(batch, rows)
    } catch (error) {
      // Any other error is caused by one of the deliveries: stored one by one, only that one fails.
      if (error instanceof AppError) throw error
      if (deliveries.length === 1) return [error as Error]
      const outcomes = []
      for (const delivery of deliveries) outcomes.push(...(await store([delivery])))
      return outcomes
    }
  }

  return {
    ...postgresNoun(deliveryReads(postgres, { lastLeft, walkBackOf }), database),
    deliver: (delivery) => batcher.submit(delivery),
    foresee: (delivery) => foresee(query, delivery),
    watch,
    load: batcher.load,
    async drained() {
      close()
      await batcher.drained()
      await blocks.settled()
    },
  }
}
