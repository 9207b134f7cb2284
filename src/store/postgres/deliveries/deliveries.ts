import { AppError } from '#src/lib/app-error.ts'
import { createBatcher } from '#src/lib/batcher.ts'
import { deliveryReads, REFUSALS, stateDigest } from '#src/store/sql/deliveries/deliveries.ts'
import { receiptFromRow } from '#src/store/sql/deliveries/rows.ts'
import { filterValues, originValues, type WalkBackOf } from '#src/store/sql/deliveries/walks.ts'
import { all } from '#src/store/sql/work.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import type { DeliveryStore, NewDelivery, QueueLimits, Receipt } from '#src/store/store.ts'
import type { Database } from '../database.ts'
import { postgres } from '../dialect.ts'
import { postgresNoun } from '../nouns.ts'
import { addBatch, inRounds, outcomesOf, relate } from './batch.ts'
import { createBlocks } from './blocks.ts'
import { createCommitWatch } from './commit-watch.ts'
import { LOST } from './lost.ts'

const lastLeft = (place: string): string => `SELECT last_position FROM (${LOST(place)}) l`

/** Ends with a row that has no receipt, at the oldest position that was looked at. */
const BEFORE_OF_CUSTOMER = `
  SELECT $1 AS customer_id, d.* FROM deliveries_before_1($1, $2, $3, $4, $5, $6, $7, $8, $9::boolean::integer, $10, $11) d`

const walkBackOf: WalkBackOf = function* (customerId, position, filter, { limit, scan }) {
  const [, ...filters] = filterValues(filter)
  const rows = yield* all(BEFORE_OF_CUSTOMER, customerId, position, scan, limit, ...filters, ...originValues(filter))
  return { rows: rows.slice(0, -1), end: rows.at(-1)?.position as number }
}

const at = (position: string): string => postgres.one('delivery', 'd', `d.position = ${position}`)

const COLUMNS = 'd.receipt, d.order_id, d.status, d.received_at, d.echo_of'

/** Applies the rules of `deliver_1` to one delivery. A rollback of `deliver_1` would not give its positions back. */
const FIND_DUPLICATE = `
  WITH who AS (SELECT number FROM customer WHERE id = $1),
  retry AS MATERIALIZED (
    SELECT CASE WHEN d.erased THEN rtrim(d.payload, ' ') = erased_payload_1($5) ELSE d.payload = $5 END AS same, ${COLUMNS}
      FROM who JOIN idempotency k ON k.customer = who.number AND k.key = $2 AND k.kept_at >= $3 ${at('k.position')}
  ),
  echo AS (
    SELECT true AS same, ${COLUMNS}
      FROM who JOIN order_state s ON s.customer = who.number AND s.order_id = $4 AND s.digest = $6 ${at('s.state_position')}
     WHERE NOT EXISTS (SELECT FROM retry)
  )
  SELECT EXISTS (SELECT FROM erased_customer e WHERE e.customer = who.number) AS erased, d.same, d.order_id, d.status,
         coalesce(f.receipt, d.receipt) AS receipt, coalesce(f.received_at, d.received_at) AS received_at
    FROM who
    LEFT JOIN (SELECT * FROM retry UNION ALL SELECT * FROM echo) d ON true
    LEFT JOIN LATERAL (SELECT receipt, received_at FROM delivery WHERE position = d.echo_of LIMIT 1) f ON true`

const FIND_NUMBERS = 'SELECT id, number FROM customer WHERE id = ANY ($1::text[])'

interface PostgresDeliveries extends DeliveryStore {
  drained(): Promise<void>
}

export function postgresDeliveries(database: Database, limits: QueueLimits): PostgresDeliveries {
  const { query, lookUp, storeBatch } = database
  const { watch, close } = createCommitWatch(database)
  const blocks = createBlocks(query)
  /** By which deliveries name their customers. They never change. */
  const numbers = new Map<string, number>()
  let roundsUnderWay: Promise<unknown> | undefined
  let lastLookUp: Promise<unknown> = Promise.resolve()
  const batcher = createBatcher<NewDelivery, Receipt>({
    ...limits,
    bytesOf: ({ payload }) => payload.length,
    whenFull: () => new AppError(storeErrors.overloaded),
    monotonic: () => performance.now(),
    commit,
  })

  async function commit(deliveries: readonly NewDelivery[]): Promise<(Receipt | Error)[]> {
    await roundsUnderWay
    const rounds = inRounds(deliveries)
    if (rounds.length === 1) return store(deliveries)
    // The next batch waits for all rounds of this one.
    const stored = storeRounds(deliveries, rounds)
    roundsUnderWay = stored
      .catch(() => undefined)
      .finally(() => {
        roundsUnderWay = undefined
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

  async function numbersOf(deliveries: readonly NewDelivery[]): Promise<number[]> {
    const unknown = new Set(deliveries.map(({ customerId }) => customerId).filter((id) => !numbers.has(id)))
    const { rows } = unknown.size === 0 ? { rows: [] } : await lookUp(FIND_NUMBERS, [...unknown])
    for (const { id, number } of rows) numbers.set(id as string, number as number)
    return deliveries.map(({ customerId }) => {
      const number = numbers.get(customerId)
      if (number === undefined) throw new Error(`no customer ${customerId}`)
      return number
    })
  }

  async function store(deliveries: readonly NewDelivery[]): Promise<(Receipt | Error)[]> {
    try {
      const batch = relate(deliveries)
      // Looking up in turn keeps the next batch from overtaking this one.
      const looked = lastLookUp.then(() => numbersOf(deliveries))
      lastLookUp = looked.catch(() => undefined)
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
    deliver: batcher.submit,
    async findDuplicate({ customerId, idempotency, orderId, payload }) {
      const { key = null, notBefore = 0 } = idempotency ?? {}
      const [row] = (await query(FIND_DUPLICATE, customerId, key, notBefore, orderId, payload, stateDigest(payload)))
        .rows
      if (row === undefined) throw new Error(`no customer ${customerId}`)
      if (row.erased) throw new AppError(REFUSALS.erased)
      if (row.receipt === null) return undefined
      if (!row.same) throw new AppError(REFUSALS['key-reused'])
      return { ...receiptFromRow(row), duplicate: true }
    },
    watch,
    load: batcher.load,
    async drained() {
      close()
      await batcher.drained()
      await blocks.settled()
    },
  }
}
