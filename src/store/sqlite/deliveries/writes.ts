import { AppError } from '#src/lib/app-error.ts'
import { digestOf } from '#src/store/shared/foresight.ts'
import { receiptFromRow } from '#src/store/shared/rows.ts'
import type { Receipt } from '#src/store/store.ts'
import type { Database } from '../database.ts'
import { type BatchOutcome, type DeliveryBatch, type RowOutcome, type StoredDelivery, unpackBatch } from './batch.ts'
import { createBlocks } from './blocks.ts'
import { noteTimes } from './times.ts'

const FIND_STATE = `
  SELECT state_position, latest_position, digest = $1 AS is_echo FROM order_state WHERE customer = $2 AND order_id = $3`

/** SQLite takes the position after the greatest, which no purge removes. */
const INSERT_DELIVERY = `
  INSERT INTO delivery (receipt, customer, order_id, status, received_at, echo_of, previous, payload, origin)
  VALUES (unhex($1, '-'), $2, $3, $4, $5, $6, $7, $8, $9)`

const INSERT_STATE = `
  INSERT INTO order_state (customer, order_id, status, state_position, latest_position, digest)
  VALUES ($1, $2, $3, $4, $5, $6)`

const UPDATE_STATE = `
  UPDATE order_state SET status = $1, state_position = $2, latest_position = $3, digest = $4
   WHERE customer = $5 AND order_id = $6`

const UPDATE_LATEST = `
  UPDATE order_state SET latest_position = $1 WHERE customer = $2 AND order_id = $3`

const FIND_FIRST = `
  SELECT hex(receipt) AS receipt, order_id, status, received_at, echo_of, payload FROM delivery WHERE position = $1`

const FIND_KEY = `
  SELECT number, position, kept_at FROM idempotency WHERE customer = $1 AND key = $2`

const INSERT_KEY = `
  INSERT INTO idempotency (customer, key, position, kept_at) VALUES ($1, $2, $3, $4)`

/** Deletes at most one key for each key inserted, so that the table shrinks without long pauses. */
const DELETE_EXPIRED_KEY = `
  DELETE FROM idempotency WHERE number = (SELECT min(number) FROM idempotency) AND kept_at < $1`

const FIND_CUSTOMER = 'SELECT number, erased_at FROM customer WHERE id = $1'

/** What storing a delivery runs, apart from blocks, which come with each 4,096th. */
export const DELIVERY_STATEMENTS: readonly string[] = [
  FIND_CUSTOMER,
  FIND_STATE,
  INSERT_DELIVERY,
  INSERT_STATE,
  UPDATE_STATE,
  UPDATE_LATEST,
  FIND_FIRST,
  FIND_KEY,
  INSERT_KEY,
  DELETE_EXPIRED_KEY,
]

/** Writes batches of deliveries, each in one transaction. Run by the writer thread. `admit` throws unless the log may take so many bytes. */
export function deliveryWrites(database: Database, admit: (bytes: number) => void) {
  /** Caches the numbers of the customers in the current batch, by customer id; undefined for an erased customer. */
  const numbers = new Map<string, number | undefined>()
  const blocks = createBlocks(database)
  /** Deliveries stored of the current batch. */
  let stored = 0
  /** The position of the latest of them. */
  let lastPosition = 0

  const numberOf = (customerId: string): number | undefined => {
    if (numbers.has(customerId)) return numbers.get(customerId)
    const row = database.get(FIND_CUSTOMER, customerId)
    if (row === undefined) throw new Error(`no customer ${customerId}`)
    const number = row.erased_at === null ? (row.number as number) : undefined
    numbers.set(customerId, number)
    return number
  }

  /** Undefined for a delivery that was purged. An echo has the receipt of the delivery that it repeats, unless that was purged. */
  const duplicateOf = (position: number): (Receipt & { payload: Uint8Array }) | undefined => {
    const row = database.get(FIND_FIRST, position)
    const first = row?.echo_of ? database.get(FIND_FIRST, row.echo_of as number) : undefined
    return row && { ...receiptFromRow(first ?? row), duplicate: true, payload: row.payload as Uint8Array }
  }

  const deliver = (delivery: StoredDelivery): Receipt | 'key-reused' | 'erased' | null => {
    const customer = numberOf(delivery.customerId)
    if (customer === undefined) return 'erased'
    const { idempotency } = delivery
    if (idempotency === null) return store(customer, delivery).outcome
    const kept = database.get(FIND_KEY, customer, idempotency.key)
    const isValid = kept !== undefined && (kept.kept_at as number) >= idempotency.notBefore
    const first = isValid ? duplicateOf(kept.position as number) : undefined
    if (first !== undefined) {
      const { payload, ...receipt } = first
      return Buffer.compare(payload, delivery.payload) === 0 ? receipt : 'key-reused'
    }
    if (kept !== undefined) database.run('DELETE FROM idempotency WHERE number = $1', kept.number as number)
    const { position, outcome } = store(customer, delivery)
    database.run(DELETE_EXPIRED_KEY, idempotency.notBefore)
    database.run(INSERT_KEY, customer, idempotency.key, position, delivery.receivedAt)
    return outcome
  }

  /** Stores one delivery and detects an echo. */
  const store = (customer: number, delivery: StoredDelivery): { position: number; outcome: Receipt | null } => {
    const { receiptId, orderId, status, receivedAt, payload, origin } = delivery
    const insert = (echoOf: number | null, previous: number | null): number => {
      stored++
      const values = [receiptId, customer, orderId, status, receivedAt, echoOf, previous, payload, origin] as const
      lastPosition = database.insert(INSERT_DELIVERY, ...values)
      blocks.stored(lastPosition, customer)
      return lastPosition
    }

    if (orderId === null) return { position: insert(null, null), outcome: null }
    const digest = digestOf(payload)
    const state = database.get(FIND_STATE, digest, customer, orderId)
    if (state === undefined) {
      const position = insert(null, null)
      database.run(INSERT_STATE, customer, orderId, status, position, position, digest)
      return { position, outcome: null }
    }
    const previous = state.latest_position as number
    const first = state.is_echo === 1 ? duplicateOf(state.state_position as number) : undefined
    if (first !== undefined) {
      const { payload: _, ...receipt } = first
      const position = insert(state.state_position as number, previous)
      database.run(UPDATE_LATEST, position, customer, orderId)
      return { position, outcome: receipt }
    }
    const position = insert(null, previous)
    database.run(UPDATE_STATE, status, position, position, digest, customer, orderId)
    return { position, outcome: null }
  }

  /** Stores a batch again in which a delivery failed: slower, each in a savepoint of its own. */
  const deliverOneByOne = (deliveries: readonly StoredDelivery[]): RowOutcome[] =>
    database.transaction(() => {
      numbers.clear()
      noteTimes(database, deliveries)
      return deliveries.map((delivery) => {
        stored = 0
        try {
          return database.savepoint(() => deliver(delivery))
        } catch (error) {
          if (error instanceof AppError) throw error
          return { fault: String(error) }
        }
      })
    })

  const deliverAll = (deliveries: readonly StoredDelivery[]): BatchOutcome => {
    try {
      return database.transaction(() => {
        numbers.clear()
        stored = 0
        noteTimes(database, deliveries)
        const outcomes = deliveries.map(deliver)
        if (stored > 0) blocks.addComplete(lastPosition)
        const span = { from: lastPosition - stored, to: lastPosition }
        return { outcomes: outcomes.every((outcome) => outcome === null) ? null : outcomes, span }
      })
    } catch (error) {
      blocks.forget()
      throw error
    }
  }

  return {
    deliverBatch(batch: DeliveryBatch): BatchOutcome {
      admit(batch.bytesOfLog)
      const deliveries = unpackBatch(batch)
      try {
        return deliverAll(deliveries)
      } catch (error) {
        if (error instanceof AppError) throw error
        try {
          return { outcomes: deliverOneByOne(deliveries), span: null }
        } finally {
          blocks.forget()
        }
      }
    },
  }
}
