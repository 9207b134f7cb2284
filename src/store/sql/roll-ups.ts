import type { NewRefusals } from '../roll-up-store.ts'
import type { Dialect } from './dialect.ts'
import type { Work } from './work.ts'

/** Stands for all customers in the tables of counts. */
const ALL = 0

const REFUSALS = { hour: 'integer', customer_id: 'text', action: 'text', code: 'text', count: 'integer' } as const

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
  const add = batch(REFUSALS, ADD_REFUSALS)
  return (refusals) =>
    add(
      refusals.map(({ hour, customerId, action, errorCode, count }) => ({
        hour,
        customer_id: customerId,
        action,
        code: errorCode,
        count,
      })),
    )
}
