import { AppError } from '#src/lib/app-error.ts'
import { createBatcher } from '#src/lib/batcher.ts'
import type { QueueLimits } from '../open-store.ts'
import { storeErrors } from '../store.errors.ts'
import type { Delivery, DeliveryStore, NewDelivery, Receipt } from '../store.ts'
import type { Database, Row } from './database.ts'
import { batchArguments, inRounds } from './delivery-batch.ts'

const DELIVER = 'SELECT * FROM deliver_1($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)'

const COLUMNS = `
  d.position, d.receipt, c.id AS customer_id, d.order_id, d.status, d.received_at, d.echo_of, d.payload`

const BY_RECEIPT = `
  SELECT ${COLUMNS} FROM delivery d JOIN customer c ON c.number = d.customer WHERE d.receipt = $1`

const STATE = `
  SELECT d.receipt, s.order_id, s.status, d.received_at
    FROM order_state s JOIN delivery d ON d.position = s.state_position
   WHERE s.customer = (SELECT number FROM customer WHERE id = $1) AND s.order_id = $2`

const HISTORY = `
  WITH RECURSIVE chain (position) AS (
    SELECT latest_position FROM order_state
     WHERE customer = (SELECT number FROM customer WHERE id = $1) AND order_id = $2
    UNION ALL
    SELECT d.previous FROM chain JOIN delivery d ON d.position = chain.position WHERE d.previous IS NOT NULL
  )
  SELECT ${COLUMNS} FROM chain JOIN delivery d ON d.position = chain.position JOIN customer c ON c.number = d.customer
   ORDER BY d.position DESC`

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

export interface PostgresDeliveries extends DeliveryStore {
  drained(): Promise<void>
}

export function postgresDeliveries({ query }: Database, limits: QueueLimits): PostgresDeliveries {
  const batcher = createBatcher<NewDelivery, Receipt>({
    bytesOf: ({ payload }) => payload.length,
    mostUnderWay: 1,
    maxItems: limits.maxDeliveries,
    maxBytes: limits.maxBytes,
    whenFull: () => new AppError(storeErrors.overloaded),
    commit,
  })

  async function commit(deliveries: readonly NewDelivery[]): Promise<(Receipt | Error)[]> {
    const outcomes = new Array<Receipt | Error>(deliveries.length)
    for (const places of inRounds(deliveries)) {
      const stored = await store(places.map((place) => deliveries[place] as NewDelivery))
      for (const [index, place] of places.entries()) outcomes[place] = stored[index] as Receipt | Error
    }
    return outcomes
  }

  async function store(deliveries: readonly NewDelivery[]): Promise<(Receipt | Error)[]> {
    try {
      const { rows } = await query(DELIVER, ...batchArguments(deliveries))
      const outcomes: (Receipt | Error)[] = deliveries.map(ownReceipt)
      for (const row of rows) outcomes[(row.ordinal as number) - 1] = otherOutcome(row)
      return outcomes
    } catch (error) {
      // What is not the database's state is the fault of a row: alone, it fails alone.
      if (error instanceof AppError) throw error
      if (deliveries.length === 1) return [error as Error]
      const outcomes = []
      for (const delivery of deliveries) outcomes.push(...(await store([delivery])))
      return outcomes
    }
  }

  return {
    deliver: (delivery) => batcher.submit(delivery),
    async findByReceipt(receiptId) {
      if (!UUID.test(receiptId)) return undefined
      const { rows } = await query(BY_RECEIPT, receiptId)
      return rows[0] && deliveryFromRow(rows[0])
    },
    async orderState(customerId, orderId) {
      const [row] = (await query(STATE, customerId, orderId)).rows
      if (row === undefined) return undefined
      const { receiptId, status, receivedAt } = receiptFromRow(row)
      return { orderId, status, receiptId, receivedAt }
    },
    history: async (customerId, orderId) => (await query(HISTORY, customerId, orderId)).rows.map(deliveryFromRow),
    drained: () => batcher.drained(),
  }
}

const ownReceipt = ({ receiptId, orderId, status, receivedAt }: NewDelivery): Receipt => ({
  receiptId,
  orderId,
  status,
  receivedAt,
  duplicate: false,
})

function otherOutcome(row: Row): Receipt | Error {
  if (row.outcome === 'duplicate') return { ...receiptFromRow(row), duplicate: true }
  if (row.outcome === 'key-reused') return new AppError(storeErrors.idempotencyKeyReused)
  return new Error(`a delivery was not stored: ${row.outcome}`)
}

const receiptFromRow = (row: Row): Receipt => ({
  receiptId: row.receipt as string,
  orderId: row.order_id as string | null,
  status: row.status as number,
  receivedAt: row.received_at as number,
  duplicate: typeof row.echo_of === 'number',
})

const deliveryFromRow = (row: Row): Delivery => ({
  ...receiptFromRow(row),
  position: row.position as number,
  customerId: row.customer_id as string,
  payload: row.payload as Uint8Array,
})
