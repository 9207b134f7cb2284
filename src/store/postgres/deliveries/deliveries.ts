import { AppError } from '#src/lib/app-error.ts'
import { createBatcher } from '#src/lib/batcher.ts'
import type { QueueLimits } from '#src/store/opened-store.ts'
import { deliveryFromRow, orderStateFromRow, receiptRange } from '#src/store/shared/rows.ts'
import { periodValues, positionsFromRow, receiptsAround, UNORDERED } from '#src/store/shared/times.ts'
import { firstReceiptOf } from '#src/store/shared/uuid.ts'
import { storeErrors } from '#src/store/store.errors.ts'
import type { DeliveryStore, NewDelivery, Receipt } from '#src/store/store.ts'
import type { CustomerNumbers } from '../customer-numbers.ts'
import type { Database, Row } from '../database.ts'
import { argumentsOf, inRounds, outcomesOf, relate } from './batch.ts'
import { createBlocks } from './blocks.ts'
import { BY_POSITION } from './by-position.ts'
import { createCommitWatch } from './commit-watch.ts'
import { foresee } from './foresight.ts'
import { COUNT_AFTER, LOST } from './lost.ts'
import { pulseReads } from './pulse.ts'
import { deliveryReads } from './reads.ts'

const BY_RECEIPT = `
  SELECT d.position, d.receipt, c.id AS customer_id, d.order_id, d.status, d.received_at, d.echo_of,
         c.erased_at IS NOT NULL AS erased, d.payload, d.origin,
         (SELECT label FROM api_key WHERE id = encode(substr(d.origin, 1, 16), 'hex')::uuid::text) AS key_label
    FROM delivery d JOIN customer c ON c.number = d.customer
   WHERE d.receipt = $1`

const RECEIPTS = `
  SELECT receipt FROM delivery WHERE receipt BETWEEN $1::uuid AND $2::uuid ORDER BY receipt LIMIT $3`

const STATE = `
  SELECT d.receipt, s.order_id, s.status, d.received_at
    FROM order_state s JOIN ${BY_POSITION('s.state_position')}
   WHERE s.customer = (SELECT number FROM customer WHERE id = $1) AND s.order_id = $2`

const POSITIONS = `
  SELECT (SELECT position FROM delivery WHERE receipt < $1::uuid ORDER BY receipt DESC LIMIT 1) AS early,
         (SELECT position FROM delivery WHERE receipt >= $2::uuid ORDER BY receipt LIMIT 1) AS "end"`

const LAST = 'SELECT max(position) AS position FROM delivery'

const COUNT_FROM = 'SELECT count(*) AS count FROM (SELECT FROM delivery WHERE receipt >= $1::uuid LIMIT $2) d'

const MOST_ARRIVALS = 1000

const ARRIVALS = `
  SELECT max(position) AS position, count(*) AS count, array_agg(DISTINCT c.id) AS customer_ids,
         (SELECT last_position FROM (${LOST('$1')}) l) AS last_left
    FROM (SELECT position, customer FROM delivery WHERE position > $1 ORDER BY position LIMIT ${MOST_ARRIVALS}) d
    JOIN customer c ON c.number = d.customer`

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

interface PostgresDeliveries extends DeliveryStore {
  drained(): Promise<void>
}

export function postgresDeliveries(
  database: Database,
  numbers: CustomerNumbers,
  limits: QueueLimits,
): PostgresDeliveries {
  const { query, followed, storeBatch } = database
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
      const { rows } = await storeBatch(argumentsOf(batch, known))
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
    deliver: (delivery) => batcher.submit(delivery),
    foresee: (delivery) => foresee(query, delivery),
    async findByReceipt(receiptId) {
      if (!UUID.test(receiptId)) return undefined
      const { rows } = await query(BY_RECEIPT, receiptId)
      return rows[0] && deliveryFromRow(rows[0])
    },
    async receiptsWith(prefix, most) {
      return (await query(RECEIPTS, ...receiptRange(prefix), most)).rows.map(({ receipt }) => receipt as string)
    },
    async orderState(customerId, orderId) {
      const [row] = (await query(STATE, customerId, orderId)).rows
      return row && orderStateFromRow(row)
    },
    ...deliveryReads(query),
    after: deliveryReads(followed).after,
    ...pulseReads(followed),
    lastPosition: async () => Number((await followed(LAST)).rows[0]?.position ?? 0),
    countAfter: async (position) => Number((await query(COUNT_AFTER, position)).rows[0]?.count),
    async positionsWithin(period) {
      const receipts = receiptsAround(period, (await query(UNORDERED, ...periodValues(period))).rows[0])
      return positionsFromRow((await query(POSITIONS, ...receipts)).rows[0] as Row)
    },
    countFrom: async (time, most) => Number((await query(COUNT_FROM, firstReceiptOf(time), most)).rows[0]?.count),
    watch,
    async arrivals(afterPosition) {
      const { position, count, customer_ids, last_left } = (await followed(ARRIVALS, afterPosition)).rows[0] as Row
      if (last_left !== null) return { position: last_left as number, customerIds: [], more: true, lost: true }
      return {
        position: (position as number | null) ?? afterPosition,
        customerIds: (customer_ids as string[] | null) ?? [],
        more: count === MOST_ARRIVALS,
        lost: false,
      }
    },
    load: batcher.load,
    async drained() {
      close()
      await batcher.drained()
      await blocks.settled()
    },
  }
}
