import { AppError } from '#src/lib/app-error.ts'
import { digestOf, REFUSALS } from '#src/store/sql/deliveries/deliveries.ts'
import { receiptFromRow } from '#src/store/sql/deliveries/rows.ts'
import type { NewDelivery, Receipt } from '#src/store/store.ts'
import type { Query } from '../database.ts'
import { postgres } from '../dialect.ts'

const at = (position: string): string => postgres.one('delivery', 'd', `d.position = ${position}`)

const COLUMNS = 'd.receipt, d.order_id, d.status, d.received_at, d.echo_of'

/** Applies the rules of `deliver_1` to one delivery. A rollback of `deliver_1` would not give its positions back. */
const FORESEE = `
  WITH who AS (SELECT number FROM customer WHERE id = $1),
  retry AS MATERIALIZED (
    SELECT d.payload = $5 AS same, ${COLUMNS}
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

export async function foresee(query: Query, delivery: NewDelivery): Promise<Receipt | undefined> {
  const { customerId, idempotency, orderId, payload } = delivery
  const { key = null, notBefore = 0 } = idempotency ?? {}
  const [row] = (await query(FORESEE, customerId, key, notBefore, orderId, payload, digestOf(payload))).rows
  if (row === undefined) throw new Error(`no customer ${customerId}`)
  if (row.erased) throw new AppError(REFUSALS.erased)
  if (row.receipt === null) return undefined
  if (!row.same) throw new AppError(REFUSALS['key-reused'])
  return { ...receiptFromRow(row), duplicate: true }
}
