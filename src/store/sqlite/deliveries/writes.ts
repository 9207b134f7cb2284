import { AppError } from '#src/lib/app-error.ts'
import type { Refused } from '#src/store/sql/deliveries/deliveries.ts'
import { SLACK_MILLISECONDS } from '#src/store/sql/deliveries/look-ups.ts'
import type { Receipt } from '#src/store/store.ts'
import type { Database, Row } from '../database.ts'
import { type DeliveryBatch, type RowOutcome, type StoredDelivery, unpackBatch } from './batch.ts'
import { createBlocks } from './blocks.ts'
import { erasedContent } from './erased.ts'
import { findCustomer, JUDGE_STATEMENTS, judge, type New } from './judge.ts'

/** The latest time is noted so far ahead, so that it is written once in this time and not with each batch. */
const AHEAD_MILLISECONDS = 60_000

/** SQLite takes the position after the greatest, which no purge removes. */
const INSERT_DELIVERY = `
  INSERT INTO delivery (receipt, customer, order_id, status, received_at, echo_of, previous, payload, origin)
  VALUES (unhex($1, '-'), $2, $3, $4, $5, $6, $7, $8, $9)`

/** Separate, so that other deliveries have no value more. */
const MARK_ERASED = 'UPDATE delivery SET erased = 1 WHERE position = $1'

const INSERT_STATE = `
  INSERT INTO order_state (customer, order_id, status, state_position, latest_position, digest)
  VALUES ($1, $2, $3, $4, $5, $6)`

const UPDATE_STATE = `
  UPDATE order_state SET status = $1, state_position = $2, latest_position = $3, digest = $4
   WHERE customer = $5 AND order_id = $6`

const UPDATE_LATEST = `
  UPDATE order_state SET latest_position = $1 WHERE customer = $2 AND order_id = $3`

const INSERT_KEY = `
  INSERT INTO idempotency (customer, key, position, kept_at) VALUES ($1, $2, $3, $4)`

const DELETE_KEY = 'DELETE FROM idempotency WHERE number = $1'

/** Deletes at most one key for each key inserted, so that the table shrinks without long pauses. */
const DELETE_EXPIRED_KEY = `
  DELETE FROM idempotency WHERE number = (SELECT min(number) FROM idempotency) AND kept_at < $1`

/** What storing a delivery runs, apart from blocks, which come with each 4,096th. */
export const DELIVERY_STATEMENTS: readonly string[] = [
  ...JUDGE_STATEMENTS,
  INSERT_DELIVERY,
  INSERT_STATE,
  UPDATE_STATE,
  UPDATE_LATEST,
  INSERT_KEY,
  DELETE_EXPIRED_KEY,
]

/** Writes batches of deliveries, each in one transaction. Run by the writer thread. `admit` throws unless the log may take so many bytes. */
export function deliveryWrites(
  database: Database,
  memories: readonly SharedArrayBuffer[],
  admit: (bytes: number) => void,
) {
  /** Caches the numbers of the customers in the current batch, by customer id; undefined for an erased customer. */
  const numbers = new Map<string, number | undefined>()
  const blocks = createBlocks(database)
  /** The position of the last delivery stored of the current batch; 0 for none. */
  let lastPosition = 0

  const numberOf = (customerId: string): number | undefined => {
    if (numbers.has(customerId)) return numbers.get(customerId)
    const number = findCustomer(database, customerId)
    numbers.set(customerId, number)
    return number
  }

  const deliver = (delivery: StoredDelivery): Receipt | Refused | null => {
    const judged = judge(database, numberOf(delivery.customerId), delivery)
    if (typeof judged === 'string' || 'receiptId' in judged) return judged
    const { idempotency } = delivery
    if (judged.formerKey !== undefined) database.run(DELETE_KEY, judged.formerKey)
    const position = store(judged, delivery)
    if (idempotency !== null) {
      database.run(DELETE_EXPIRED_KEY, idempotency.notBefore)
      database.run(INSERT_KEY, judged.customer, idempotency.key, position, delivery.receivedAt)
    }
    return judged.repeated ?? null
  }

  const store = ({ customer, digest, state, repeated, erased }: New, delivery: StoredDelivery): number => {
    const { receiptId, orderId, status, receivedAt } = delivery
    const { payload, origin } = erased ? erasedContent(delivery) : delivery
    const echoOf = state && repeated ? (state.state_position as number) : null
    const previous = state ? (state.latest_position as number) : null
    const values = [receiptId, customer, orderId, status, receivedAt, echoOf, previous, payload, origin] as const
    const position = database.insert(INSERT_DELIVERY, ...values)
    lastPosition = position
    if (erased) database.run(MARK_ERASED, position)
    blocks.stored(position, customer)
    if (digest === undefined) return position
    if (state === undefined) database.run(INSERT_STATE, customer, orderId, status, position, position, digest)
    else if (echoOf !== null) database.run(UPDATE_LATEST, position, customer, orderId)
    else database.run(UPDATE_STATE, status, position, position, digest, customer, orderId)
    return position
  }

  /** Stores a batch again in which a delivery failed: slower, each in a savepoint of its own. */
  const deliverOneByOne = (deliveries: readonly StoredDelivery[]): RowOutcome[] =>
    database.transaction(() => {
      numbers.clear()
      noteTimes(database, deliveries)
      return deliveries.map((delivery) => {
        try {
          return database.savepoint(() => deliver(delivery))
        } catch (error) {
          if (error instanceof AppError) throw error
          return { fault: String(error) }
        }
      })
    })

  const deliverAll = (deliveries: readonly StoredDelivery[]): RowOutcome[] | undefined => {
    try {
      return database.transaction(() => {
        numbers.clear()
        lastPosition = 0
        noteTimes(database, deliveries)
        const outcomes = deliveries.map(deliver)
        blocks.addComplete(lastPosition)
        return outcomes.every((outcome) => outcome === null) ? undefined : outcomes
      })
    } catch (error) {
      blocks.forget()
      throw error
    }
  }

  return {
    /** Returns nothing if every delivery was stored under its own receipt. */
    deliverBatch(batch: DeliveryBatch): RowOutcome[] | undefined {
      const [, , bytesOfLog] = batch
      admit(bytesOfLog)
      const deliveries = unpackBatch(batch, memories)
      try {
        return deliverAll(deliveries)
      } catch (error) {
        if (error instanceof AppError) throw error
        try {
          return deliverOneByOne(deliveries)
        } finally {
          blocks.forget()
        }
      }
    },
  }
}

/** SQLite takes both columns from the same row. */
const LATEST = 'SELECT low, max(high) AS high FROM unordered_time'

/** Deletes what the new row contains: the row of the latest time, and those of earlier steps back that this one reaches into. */
const DELETE = `
  DELETE FROM unordered_time WHERE high - low <= ${SLACK_MILLISECONDS} OR ($1 < $2 - ${SLACK_MILLISECONDS} AND high >= $1) RETURNING low`

const INSERT = 'INSERT INTO unordered_time (low, high) VALUES ($1, $2)'

/** Notes the times of a batch, as part of its transaction: the latest time once a minute, and how far a clock was put back. */
function noteTimes(database: Database, deliveries: readonly { readonly receivedAt: number }[]): void {
  let [earliest, latest] = [Number.POSITIVE_INFINITY, 0]
  for (const { receivedAt } of deliveries) {
    earliest = Math.min(earliest, receivedAt)
    latest = Math.max(latest, receivedAt)
  }
  const { low, high } = database.get(LATEST) as Row
  if (high !== null && earliest >= Number(low) && latest <= Number(high)) return
  const end = Math.max(Number(high ?? 0), latest + AHEAD_MILLISECONDS)
  const start = Math.min(earliest, end - SLACK_MILLISECONDS)
  const contained = database.all(DELETE, start, end).map((row) => row.low as number)
  const isStepBack = start < end - SLACK_MILLISECONDS
  database.run(INSERT, isStepBack ? Math.min(start, ...contained) : start, end)
}
