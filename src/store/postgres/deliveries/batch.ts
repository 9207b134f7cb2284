import { AppError } from '#src/lib/app-error.ts'
import { REFUSALS, type Refused } from '#src/store/sql/deliveries/deliveries.ts'
import { originBytes } from '#src/store/sql/deliveries/origins.ts'
import { receiptFromRow } from '#src/store/sql/deliveries/rows.ts'
import type { NewDelivery, Receipt } from '#src/store/store.ts'
import type { Parameters } from '../connection/message.ts'
import type { Row } from '../database.ts'

/** Deliveries with the parameters of `deliver_1` of these names: places in the batch, counted from 1. */
interface Batch {
  readonly deliveries: readonly NewDelivery[]
  readonly befores: readonly (number | null)[]
  readonly firsts: readonly number[]
  readonly finals: readonly boolean[]
}

/** Adds the arguments of `deliver_1`. */
export function addBatch(batch: Batch, customers: readonly number[], parameters: Parameters): void {
  const { deliveries, befores, firsts, finals } = batch
  const keyed = deliveries.some(({ idempotency }) => idempotency !== null)
  let end = 1
  const starts = deliveries.map(({ payload }) => {
    const start = end
    end += payload.length
    return start
  })
  const numbers = (type: 'int2' | 'int4' | 'int8', of: (delivery: NewDelivery) => number | null): void =>
    parameters.numbers(type, deliveries.map(of))

  parameters.numbers('int8', customers)
  parameters.uuids(deliveries.map(({ receiptId }) => receiptId))
  parameters.texts(deliveries.map(({ orderId }) => orderId))
  numbers('int2', ({ status }) => status)
  numbers('int8', ({ receivedAt }) => receivedAt)
  if (keyed) {
    parameters.texts(deliveries.map(({ idempotency }) => idempotency?.key ?? null))
    numbers('int8', ({ idempotency }) => idempotency?.notBefore ?? null)
  } else {
    parameters.absent()
    parameters.absent()
  }
  parameters.numbers('int4', befores)
  parameters.numbers('int4', firsts)
  parameters.booleans(finals)
  parameters.numbers('int4', starts)
  numbers('int4', ({ payload }) => payload.length)
  parameters.bytes(deliveries.map(({ payload }) => payload))
  parameters.blobs(deliveries.map(({ origin }) => origin && originBytes(origin)))
}

/**
 * The echo rule: a delivery with the bytes of its order's latest delivery repeats the one that made the order's state. It is
 * applied in three places:
 * - this function compares deliveries of one batch, by their bytes;
 * - `deliver_1` compares the first delivery of each order in the batch with the order's state, by their digests. If it repeats
 *   that one, so do its echoes in the batch. A delivery that was removed is not repeated;
 * - `outcomesOf` gives every echo the receipt of the delivery that it repeats.
 *
 * `deliver_1` could do all of it, but a batch would take 11 to 17 % longer while others wait for it.
 */
export function relate(deliveries: readonly NewDelivery[]): Batch {
  const befores: (number | null)[] = []
  const firsts: number[] = []
  const finals: boolean[] = []
  const latest = new Map<string, number>()
  for (const [index, { customerId, orderId, payload }] of deliveries.entries()) {
    const order = orderName(customerId, orderId)
    const before = order === null ? undefined : latest.get(order)
    const echoes =
      before !== undefined && Buffer.compare((deliveries[before - 1] as NewDelivery).payload, payload) === 0
    befores.push(before ?? null)
    firsts.push(echoes ? (firsts[before - 1] as number) : index + 1)
    finals.push(order !== null)
    if (before !== undefined) finals[before - 1] = false
    if (order !== null) latest.set(order, index + 1)
  }
  return { deliveries, befores, firsts, finals }
}

/** Returns an outcome for each delivery. `rows` holds those that `deliver_1` found to be duplicates or refused. */
export function outcomesOf({ deliveries, firsts }: Batch, rows: readonly Row[]): (Receipt | Error)[] {
  const outcomes: (Receipt | Error)[] = deliveries.map(({ receiptId, orderId, status, receivedAt }) => ({
    receiptId,
    orderId,
    status,
    receivedAt,
    duplicate: false,
  }))
  for (const row of rows) {
    const refusal = REFUSALS[row.outcome as Refused]
    outcomes[(row.place as number) - 1] =
      refusal === undefined ? { ...receiptFromRow(row), duplicate: true } : new AppError(refusal)
  }
  for (const [index, first] of firsts.entries()) {
    const repeated = outcomes[first - 1] as Receipt | Error
    if (first !== index + 1) outcomes[index] = repeated instanceof Error ? repeated : { ...repeated, duplicate: true }
  }
  return outcomes
}

/**
 * Divides a batch into rounds of places, to be stored one after the other. A delivery with an idempotency key shares neither
 * key nor order with another delivery of its round, and stands in a later round than earlier deliveries that share either.
 */
export function inRounds(deliveries: readonly NewDelivery[]): number[][] {
  if (deliveries.every(({ idempotency }) => idempotency === null)) return [[...deliveries.keys()]]
  const rounds: number[][] = []
  const nextForKey = new Map<string, number>()
  /** The round of the latest delivery of each order, and whether that delivery has an idempotency key. */
  const lastOfOrder = new Map<string, { round: number; keyed: boolean }>()
  for (const [place, { customerId, orderId, idempotency }] of deliveries.entries()) {
    const keyed = idempotency !== null
    const key = keyed ? `${customerId}\0${idempotency.key}` : null
    const order = orderName(customerId, orderId)
    const before = order === null ? undefined : lastOfOrder.get(order)
    const afterOrder = before === undefined ? 0 : before.keyed || keyed ? before.round + 1 : before.round
    const round = Math.max(afterOrder, key === null ? 0 : (nextForKey.get(key) ?? 0))
    if (key !== null) nextForKey.set(key, round + 1)
    if (order !== null) lastOfOrder.set(order, { round, keyed })
    const places = rounds[round] ?? []
    places.push(place)
    rounds[round] = places
  }
  return rounds
}

const orderName = (customerId: string, orderId: string | null): string | null =>
  orderId === null ? null : `${customerId}\0${orderId}`
