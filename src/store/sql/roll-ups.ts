import type { DeliveryCounts, NewRefusals, RefusalCount, RollUpStore } from '../roll-up-store.ts'
import type { Dialect } from './dialect.ts'
import { all, get, type Noun, type Row, type Work, walk } from './work.ts'

/** Stands for all customers in the tables of counts. */
const ALL = 0

const NUMBER = 'SELECT number FROM customer WHERE id = $1'

const SUMS = `
  sum(count) FILTER (WHERE status = 0) AS status_0, sum(count) FILTER (WHERE status = 1) AS status_1,
  sum(count) FILTER (WHERE status = 2) AS status_2, sum(count) FILTER (WHERE status = 3) AS status_3,
  sum(count) FILTER (WHERE duplicate) AS echoes`

const REFUSALS = `
  SELECT hour / CAST($4 AS integer) AS period, action, code, sum(count) AS count
    FROM refusal_hour WHERE customer = $1 AND hour >= $2 AND hour < $3
   GROUP BY 1, 2, 3`

/** The next deliveries that are not counted. With both limits PostgreSQL uses the index, whatever it believes about the table. */
const uncounted = (limit: string): string => `
  (SELECT position, customer, received_at, status, echo_of IS NOT NULL AS duplicate
     FROM delivery WHERE position > (SELECT position FROM roll_up) AND position <= (SELECT max(position) FROM delivery)
    ORDER BY position LIMIT ${limit})`
const NOT_COUNTED = `SELECT received_at FROM ${uncounted('$1')} u ORDER BY position LIMIT 1 OFFSET $2`
/**
 * One statement, so that each delivery is found on one side of the place. Adds up hours first, which are in the order of the
 * primary key, so that few rows are left to sort.
 */
const DELIVERIES = `
  SELECT hour / CAST($5 AS integer) AS period, sum(status_0) AS status_0, sum(status_1) AS status_1,
         sum(status_2) AS status_2, sum(status_3) AS status_3, sum(echoes) AS echoes
    FROM (SELECT hour, ${SUMS}
            FROM delivery_hour WHERE customer = $1 AND hour >= $2 AND hour < $3 GROUP BY hour
          UNION ALL
          SELECT hour, ${SUMS}
            FROM (SELECT received_at / 3600000 AS hour, status, duplicate, 1 AS count
                    FROM ${uncounted('$4')} u WHERE $1 = ${ALL} OR customer = $1) d
           WHERE hour >= $2 AND hour < $3 GROUP BY hour) h
   GROUP BY 1`

export const rollUps: Noun<Pick<RollUpStore, 'read'>> = {
  read: walk(function* ({ customerId, from, to, hoursEach }, look) {
    // First, so that it is before what is counted meanwhile.
    const notCountedFrom = (yield* get(NOT_COUNTED, look + 1, look))?.received_at as number | undefined
    const customer = customerId === undefined ? ALL : ((yield* get(NUMBER, customerId))?.number as number | undefined)
    if (customer === undefined) return { deliveries: [], refusals: [], notCountedFrom }
    const deliveries = yield* all(DELIVERIES, customer, from, to, look, hoursEach)
    const refusals = yield* all(REFUSALS, customer, from, to, hoursEach)
    return { deliveries: deliveries.map(deliveriesFromRow), refusals: refusals.map(refusalsFromRow), notCountedFrom }
  }),
}

const deliveriesFromRow = (row: Row): DeliveryCounts => ({
  period: Number(row.period),
  byStatus: [row.status_0, row.status_1, row.status_2, row.status_3].map((count) => Number(count ?? 0)),
  echoes: Number(row.echoes ?? 0),
})

const refusalsFromRow = (row: Row): RefusalCount => ({
  period: row.period as number,
  action: row.action as string,
  errorCode: row.code as string,
  count: Number(row.count),
})

const NEW_REFUSALS = 'hour bigint, customer_id text, action text, code text, count bigint'

/** Sorted, so that replicas that write at the same time do not wait for each other in a circle. */
const ADD_REFUSALS = (v: string): string => `
  INSERT INTO refusal_hour AS h (customer, hour, action, code, count)
  SELECT customer, hour, action, code, sum(count)
    FROM (SELECT ${ALL} AS customer, hour, action, code, count FROM ${v}
          UNION ALL
          SELECT c.number, hour, action, code, count FROM ${v} JOIN customer c ON c.id = v.customer_id) r
   WHERE true
   GROUP BY 1, 2, 3, 4
   ORDER BY 1, 2, 3, 4
      ON CONFLICT (customer, hour, action, code) DO UPDATE SET count = h.count + excluded.count`

/** Returns a part of a transaction. */
export function addingRefusals({ batch }: Dialect): (refusals: readonly NewRefusals[]) => Work<unknown> {
  const add = batch(NEW_REFUSALS, ADD_REFUSALS)
  return (refusals) =>
    add(refusals.map(({ hour, customerId, action, errorCode, count }) => [hour, customerId, action, errorCode, count]))
}
