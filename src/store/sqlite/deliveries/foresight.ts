import { foresightFromRow, foresightValues } from '#src/store/shared/foresight.ts'
import type { NewDelivery, Receipt } from '#src/store/store.ts'
import type { Database } from '../database.ts'

/** Applies the rules of writes.ts to one delivery. CROSS JOIN makes SQLite join in the order that is written. */
const FORESEE = `
  WITH who AS (SELECT number, erased_at FROM customer WHERE id = $1),
  retry AS (
    SELECT d.position, d.payload = $5 AS same
      FROM who CROSS JOIN idempotency k ON k.customer = who.number AND k.key = $2 AND k.kept_at >= $3
     CROSS JOIN delivery d ON d.position = k.position
  ),
  echo AS (
    SELECT d.position, 1 AS same
      FROM who CROSS JOIN order_state s ON s.customer = who.number AND s.order_id = $4 AND s.digest = $6
     CROSS JOIN delivery d ON d.position = s.state_position
     WHERE NOT EXISTS (SELECT 1 FROM retry)
  )
  SELECT who.erased_at IS NOT NULL AS erased, r.same, hex(coalesce(f.receipt, d.receipt)) AS receipt,
         d.order_id, d.status, coalesce(f.received_at, d.received_at) AS received_at
    FROM who
    LEFT JOIN (SELECT * FROM retry UNION ALL SELECT * FROM echo) r ON true
    LEFT JOIN delivery d ON d.position = r.position
    LEFT JOIN delivery f ON f.position = d.echo_of`

export const foresee = (database: Database, delivery: NewDelivery): Receipt | undefined => {
  const row = database.get(FORESEE, ...foresightValues(delivery))
  // hex() of nothing is an empty text.
  return foresightFromRow(row && { ...row, receipt: row.receipt || null })
}
