import { countsFromRows } from '../shared/rows.ts'
import type { RollUpStore } from '../store.ts'
import type { Database } from './database.ts'

const CUSTOMER = 'CASE WHEN $1::text IS NULL THEN 0 ELSE (SELECT number FROM customer WHERE id = $1) END'

const NOT_COUNTED = `
  SELECT received_at FROM uncounted_1($1 + 1) WHERE number > $1`

/** One statement, so that each delivery is found on one side of the place. */
const DELIVERIES = `
  WITH wanted AS MATERIALIZED (SELECT ${CUSTOMER} AS customer)
  SELECT hour / $5::integer AS period, (sum(count) FILTER (WHERE status = 0))::bigint AS status_0,
         (sum(count) FILTER (WHERE status = 1))::bigint AS status_1, (sum(count) FILTER (WHERE status = 2))::bigint AS status_2,
         (sum(count) FILTER (WHERE status = 3))::bigint AS status_3, (sum(count) FILTER (WHERE duplicate))::bigint AS echoes
    FROM (SELECT hour, status, duplicate, count
            FROM delivery_hour
           WHERE customer = (SELECT customer FROM wanted) AND hour >= $2::integer AND hour < $3::integer
          UNION ALL
          SELECT (received_at / 3600000)::integer, status, duplicate, 1
            FROM uncounted_1($4) d
           WHERE (SELECT customer FROM wanted) IN (0, d.customer)
             AND received_at >= $2::bigint * 3600000 AND received_at < $3::bigint * 3600000) counted
   GROUP BY 1`

const REFUSALS = `
  SELECT hour / $4::integer AS period, action, code, sum(count)::bigint AS count
    FROM refusal_hour WHERE customer = (${CUSTOMER}) AND hour >= $2 AND hour < $3
   GROUP BY 1, 2, 3`

export const postgresRollUps = ({ query }: Database): RollUpStore => ({
  count: async (look) => (await query('SELECT count_deliveries_1($1) AS counted', look)).rows[0]?.counted as number,
  async read({ customerId = null, from, to, hoursEach }, look) {
    // First, so that it is before what is counted meanwhile.
    const notCountedFrom = (await query(NOT_COUNTED, look)).rows[0]?.received_at as number | undefined
    const deliveries = (await query(DELIVERIES, customerId, from, to, look, hoursEach)).rows
    const refusals = (await query(REFUSALS, customerId, from, to, hoursEach)).rows
    return { ...countsFromRows(deliveries, refusals), notCountedFrom }
  },
})
