import { type Refused, stateDigest } from '#src/store/sql/deliveries/deliveries.ts'
import { receiptFromRow } from '#src/store/sql/deliveries/rows.ts'
import type { NewDelivery, Receipt } from '#src/store/store.ts'
import type { Database, Row } from '../database.ts'
import { wasPayload } from './erased.ts'

const FIND_CUSTOMER = 'SELECT number, erased_at FROM customer WHERE id = $1'

const FIND_KEY = 'SELECT number, position, kept_at FROM idempotency WHERE customer = $1 AND key = $2'

const FIND_STATE = `
  SELECT state_position, latest_position, digest = $1 AS is_echo FROM order_state WHERE customer = $2 AND order_id = $3`

const FIND_FIRST = `
  SELECT hex(receipt) AS receipt, order_id, status, received_at, echo_of, erased, payload FROM delivery WHERE position = $1`

export const JUDGE_STATEMENTS = [FIND_CUSTOMER, FIND_KEY, FIND_STATE, FIND_FIRST]

/** Returns the number of a customer; undefined for one that was erased. */
export function findCustomer(database: Database, customerId: string): number | undefined {
  const row = database.get(FIND_CUSTOMER, customerId)
  if (row === undefined) throw new Error(`no customer ${customerId}`)
  return row.erased_at === null ? (row.number as number) : undefined
}

/** A delivery that is to be stored. */
export interface New {
  readonly customer: number
  /** The number of an idempotency key that has expired, or whose delivery was purged. */
  readonly formerKey: number | undefined
  /** Undefined without an order id. */
  readonly digest: Uint8Array | undefined
  /** The order as it is, if it is known. */
  readonly state: Row | undefined
  /** The receipt of the delivery that this one repeats. */
  readonly repeated: Receipt | undefined
  /** Whether that one is erased: its echo must not bring it back. */
  readonly erased: boolean
}

type Judged = Pick<NewDelivery, 'orderId' | 'idempotency' | 'payload'>

/** Applies the rules of retries and echoes. Returns the receipt of what a retry repeats. */
export function judge(
  database: Database,
  customer: number | undefined,
  { orderId, idempotency, payload }: Judged,
): Refused | Receipt | New {
  if (customer === undefined) return 'erased'
  const kept = idempotency === null ? undefined : database.get(FIND_KEY, customer, idempotency.key)
  if (kept !== undefined && idempotency !== null && (kept.kept_at as number) >= idempotency.notBefore) {
    const first = findFirst(database, kept.position as number)
    if (first !== undefined) {
      const same = first.erased ? wasPayload(first.payload, payload) : Buffer.compare(first.payload, payload) === 0
      return same ? first.receipt : 'key-reused'
    }
  }
  const digest = orderId === null ? undefined : stateDigest(payload)
  const state = digest && database.get(FIND_STATE, digest, customer, orderId)
  const first = state?.is_echo === 1 ? findFirst(database, state.state_position as number) : undefined
  const formerKey = kept?.number as number | undefined
  return { customer, formerKey, digest, state, repeated: first?.receipt, erased: first?.erased === true }
}

/** Undefined for a delivery that was purged. An echo has the receipt of the delivery that it repeats, unless that was purged. */
function findFirst(database: Database, position: number) {
  const row = database.get(FIND_FIRST, position)
  const first = row?.echo_of ? database.get(FIND_FIRST, row.echo_of as number) : undefined
  return (
    row && {
      receipt: { ...receiptFromRow(first ?? row), duplicate: true },
      erased: row.erased !== null,
      payload: row.payload as Uint8Array,
    }
  )
}
