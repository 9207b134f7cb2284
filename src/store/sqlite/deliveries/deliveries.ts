import { AppError } from '#src/lib/app-error.ts'
import { createBatcher } from '#src/lib/batcher.ts'
import { monotonicMilliseconds } from '#src/lib/clock.ts'
import type { QueueLimits } from '#src/store/opened-store.ts'
import { keyIdOf } from '#src/store/shared/origins.ts'
import { deliveryFromRow, orderStateFromRow, receiptRange } from '#src/store/shared/rows.ts'
import { periodValues, positionsFromRow, receiptsAround, UNORDERED } from '#src/store/shared/times.ts'
import { firstReceiptOf, uuidFrom } from '#src/store/shared/uuid.ts'
import { customerErased, storeErrors } from '#src/store/store.errors.ts'
import type { DeliveryStore, NewDelivery, Receipt } from '#src/store/store.ts'
import type { Database, Row } from '../database.ts'
import { type StoreThread, sendOperations } from '../thread/operations.ts'
import { type BatchOutcome, createPacker, type RowOutcome } from './batch.ts'
import { foresee } from './foresight.ts'
import { pulseReads } from './pulse.ts'
import { deliveryReads } from './reads.ts'
import { createRecentCommits } from './recent-commits.ts'

const COLUMNS = `
  d.position, hex(d.receipt) AS receipt, c.id AS customer_id, d.order_id, d.status, d.received_at, d.echo_of,
  c.erased_at IS NOT NULL AS erased, d.payload, d.origin`

const BY_RECEIPT = `
  SELECT ${COLUMNS} FROM delivery d JOIN customer c ON c.number = d.customer WHERE d.receipt = unhex($1, '-')`

const LABEL = 'SELECT label FROM api_key WHERE id = $1'

const RECEIPTS = `
  SELECT hex(receipt) AS receipt FROM delivery WHERE receipt BETWEEN unhex($1) AND unhex($2) ORDER BY receipt LIMIT $3`

const STATE = `
  SELECT hex(d.receipt) AS receipt, s.order_id, s.status, d.received_at
    FROM order_state s JOIN delivery d ON d.position = s.state_position
   WHERE s.customer = (SELECT number FROM customer WHERE id = $1) AND s.order_id = $2`

const POSITIONS = `
  SELECT (SELECT position FROM delivery WHERE receipt < unhex($1) ORDER BY receipt DESC LIMIT 1) AS early,
         (SELECT position FROM delivery WHERE receipt >= unhex($2) ORDER BY receipt LIMIT 1) AS end`

const LAST = 'SELECT max(position) AS position FROM delivery'

const COUNT_FROM = 'SELECT count(*) AS count FROM (SELECT 1 FROM delivery WHERE receipt >= unhex($1) LIMIT $2)'

/** Half of the time that a request has left after the longest wait. */
const MOST_GRACE_MILLISECONDS = 1000

const MOST_ARRIVALS = 1000

const ARRIVALS = `
  SELECT d.position, c.id AS customer_id FROM delivery d JOIN customer c ON c.number = d.customer
   WHERE d.position > $1 ORDER BY d.position LIMIT ${MOST_ARRIVALS}`

interface SqliteDeliveries extends DeliveryStore {
  drained(): Promise<void>
}

export function sqliteDeliveries(
  database: Database,
  writer: StoreThread,
  reader: StoreThread,
  limits: QueueLimits,
): SqliteDeliveries {
  const pack = createPacker(2)
  const watchers = new Set<() => void>()
  const recent = createRecentCommits()
  // Gives a batch that leaves the queue at the last moment time to be written.
  const grace = Math.min(MOST_GRACE_MILLISECONDS, limits.longestWaitMilliseconds / 2)
  const batcher = createBatcher<NewDelivery, Receipt>({
    bytesOf: ({ payload }) => payload.length,
    maxItems: limits.maxDeliveries,
    maxBytes: limits.maxBytes,
    whenFull: () => new AppError(storeErrors.overloaded),
    longestWaitMilliseconds: limits.longestWaitMilliseconds,
    monotonic: monotonicMilliseconds,
    async commit(deliveries, deadline) {
      const args = [pack(deliveries)]
      const { outcomes, span } = await writer.run<BatchOutcome>('deliveries', 'deliverBatch', args, deadline + grace)
      if (watchers.size > 0) recent.add(span, new Set(deliveries.map(({ customerId }) => customerId)))
      else recent.seen(undefined)
      for (const onCommit of watchers) onCommit()
      return deliveries.map((delivery, index) => outcomeOf(delivery, outcomes?.[index] ?? null))
    },
  })

  const labelOf = (origin: Uint8Array | null): unknown =>
    origin === null ? null : (database.get(LABEL, keyIdOf(origin))?.label ?? null)

  return {
    deliver: (delivery) => batcher.submit(delivery),
    foresee: async (delivery) => foresee(database, delivery),
    findByReceipt: async (receiptId) => {
      const row = database.get(BY_RECEIPT, receiptId)
      return row && deliveryFromRow({ ...row, key_label: labelOf(row.origin as Uint8Array | null) })
    },
    receiptsWith: async (prefix, most) =>
      database.all(RECEIPTS, ...receiptRange(prefix), most).map(({ receipt }) => uuidFrom(receipt as string)),
    orderState: async (customerId, orderId) => {
      const row = database.get(STATE, customerId, orderId)
      return row && orderStateFromRow(row)
    },
    ...sendOperations({ ...deliveryReads, ...pulseReads }, reader, 'deliveries'),
    lastPosition: async () => Number(database.get(LAST)?.position ?? 0),
    countAfter: async (position) => Math.max(0, Number(database.get(LAST)?.position ?? 0) - position),
    async positionsWithin(period) {
      const receipts = receiptsAround(period, database.get(UNORDERED, ...periodValues(period)))
      return positionsFromRow(database.get(POSITIONS, ...receipts) as Row)
    },
    countFrom: async (time, most) => Number(database.get(COUNT_FROM, firstReceiptOf(time), most)?.count),
    watch(onCommit) {
      watchers.add(onCommit)
      return () => void watchers.delete(onCommit)
    },
    async arrivals(afterPosition) {
      const known = recent.since(afterPosition)
      if (known !== undefined) return known
      const rows = database.all(ARRIVALS, afterPosition)
      const position = (rows.at(-1)?.position as number | undefined) ?? afterPosition
      const more = rows.length === MOST_ARRIVALS
      recent.seen(more ? undefined : position)
      const customerIds = [...new Set(rows.map((row) => row.customer_id as string))]
      return { position, customerIds, more, lost: false }
    },
    load: batcher.load,
    drained: () => batcher.drained(),
  }
}

function outcomeOf(delivery: NewDelivery, outcome: RowOutcome): Receipt | Error {
  if (outcome === null) {
    const { receiptId, orderId, status, receivedAt } = delivery
    return { receiptId, orderId, status, receivedAt, duplicate: false }
  }
  if (outcome === 'key-reused') return new AppError(storeErrors.idempotencyKeyReused)
  if (outcome === 'erased') return new AppError(customerErased)
  return 'fault' in outcome ? new Error(outcome.fault) : outcome
}
