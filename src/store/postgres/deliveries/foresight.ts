import { foresightFromRow, foresightValues } from '#src/store/shared/foresight.ts'
import type { NewDelivery, Receipt } from '#src/store/store.ts'
import type { Query } from '../database.ts'

const BY_POSITION = (position: string): string =>
  `LATERAL (SELECT * FROM delivery WHERE position = ${position} LIMIT 1)`

/** Applies the rules of `deliver_1` to one delivery. LATERAL with LIMIT forces a look-up by index. */
const FORESEE = `
  WITH who AS (SELECT number FROM customer WHERE id = $1::text),
  retry AS MATERIALIZED (
    SELECT d.position, d.payload = $5::bytea AS same
      FROM who
      JOIN idempotency k ON k.customer = who.number AND k.key = $2::text AND k.kept_at >= $3::bigint
      JOIN ${BY_POSITION('k.position')} d ON true
  ),
  echo AS (
    SELECT d.position, true AS same
      FROM who
      JOIN order_state s ON s.customer = who.number AND s.order_id = $4::text AND s.digest = $6::bytea
      JOIN ${BY_POSITION('s.state_position')} d ON true
     WHERE NOT EXISTS (SELECT FROM retry)
  )
  SELECT EXISTS (SELECT FROM erased_customer e WHERE e.customer = who.number) AS erased, r.same,
         coalesce(f.receipt, d.receipt) AS receipt, d.order_id, d.status, coalesce(f.received_at, d.received_at) AS received_at
    FROM who
    LEFT JOIN (SELECT * FROM retry UNION ALL SELECT * FROM echo) r ON true
    LEFT JOIN ${BY_POSITION('r.position')} d ON true
    LEFT JOIN ${BY_POSITION('d.echo_of')} f ON true`

export const foresee = async (query: Query, delivery: NewDelivery): Promise<Receipt | undefined> =>
  foresightFromRow((await query(FORESEE, ...foresightValues(delivery))).rows[0])
