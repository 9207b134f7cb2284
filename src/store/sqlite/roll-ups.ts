import { countsFromRows } from '../shared/rows.ts'
import type { CountRange, Counts, RollUpStore } from '../store.ts'
import type { Database } from './database.ts'
import { type Operations, type StoreThread, sendOperations } from './thread/operations.ts'

const PLACE = 'SELECT position FROM roll_up'

const UNCOUNTED = `
  SELECT customer, received_at / 3600000 AS hour, status, echo_of IS NOT NULL AS duplicate, count(*) AS count,
         max(position) AS position
    FROM (SELECT position, customer, received_at, status, echo_of FROM delivery WHERE position > $1 ORDER BY position LIMIT $2)
   GROUP BY 1, 2, 3, 4`

const MOVE = 'UPDATE roll_up SET position = $1 WHERE position = $2'

const ADD = (customer: string): string => `
  INSERT INTO delivery_hour (customer, hour, status, duplicate, count)
  SELECT ${customer}, value ->> 1, value ->> 2, value ->> 3, sum(value ->> 4) FROM json_each($1) WHERE true GROUP BY 1, 2, 3, 4
      ON CONFLICT DO UPDATE SET count = count + excluded.count`

const ADD_THEIRS = ADD('value ->> 0')
const ADD_ALL = ADD('0')

/** Stands for all customers in the tables of counts. */
const ALL = 0

const NOT_COUNTED = `
  SELECT received_at FROM delivery WHERE position > (${PLACE}) ORDER BY position LIMIT 1 OFFSET $1`

const SUMS = `
  sum(count) FILTER (WHERE status = 0) AS status_0, sum(count) FILTER (WHERE status = 1) AS status_1,
  sum(count) FILTER (WHERE status = 2) AS status_2, sum(count) FILTER (WHERE status = 3) AS status_3,
  sum(count) FILTER (WHERE duplicate) AS echoes`

/**
 * One statement, so that each delivery is found on one side of the place. Adds up hours first, which are in the order of the
 * primary key, so that few rows are left to sort.
 */
const DELIVERIES = `
  SELECT hour / CAST($5 AS INTEGER) AS period, sum(status_0) AS status_0, sum(status_1) AS status_1,
         sum(status_2) AS status_2, sum(status_3) AS status_3, sum(echoes) AS echoes
    FROM (SELECT hour, ${SUMS}
            FROM delivery_hour WHERE customer = $1 AND hour >= $2 AND hour < $3 GROUP BY hour
          UNION ALL
          SELECT hour, ${SUMS}
            FROM (SELECT received_at / 3600000 AS hour, status, echo_of IS NOT NULL AS duplicate, 1 AS count
                    FROM (SELECT customer, received_at, status, echo_of
                            FROM delivery WHERE position > (${PLACE}) ORDER BY position LIMIT $4)
                   WHERE ($1 = ${ALL} OR customer = $1) AND received_at >= $2 * 3600000 AND received_at < $3 * 3600000)
           GROUP BY hour)
   GROUP BY 1`

const REFUSALS = `
  SELECT hour / CAST($4 AS INTEGER) AS period, action, code, sum(count) AS count
    FROM refusal_hour WHERE customer = $1 AND hour >= $2 AND hour < $3
   GROUP BY 1, 2, 3`

interface Uncounted {
  readonly place: number
  /** The position of the last one. */
  readonly last: number
  readonly deliveries: number
  /** Customer, hour, Status, duplicate and count, as JSON. */
  readonly groups: string
}

/** Run by the reader thread. */
export const rollUpReads = {
  uncounted(database: Database, look: number): Uncounted {
    const place = database.get(PLACE)?.position as number
    const rows = database.all(UNCOUNTED, place, look)
    return {
      place,
      last: rows.reduce((last, { position }) => Math.max(last, position as number), place),
      deliveries: rows.reduce((sum, { count }) => sum + (count as number), 0),
      groups: JSON.stringify(rows.map((row) => [row.customer, row.hour, row.status, row.duplicate, row.count])),
    }
  },

  read(database: Database, { customerId, from, to, hoursEach }: CountRange, look: number): Counts {
    const customer = customerId === undefined ? ALL : numberOf(database, customerId)
    // First, so that it is before what is counted meanwhile.
    const notCountedFrom = database.get(NOT_COUNTED, look)?.received_at as number | undefined
    if (customer === undefined) return { deliveries: [], refusals: [], notCountedFrom }
    const deliveries = database.all(DELIVERIES, customer, from, to, look, hoursEach)
    const refusals = database.all(REFUSALS, customer, from, to, hoursEach)
    return { ...countsFromRows(deliveries, refusals), notCountedFrom }
  },
}

/** Run by the writer thread. */
export const rollUpWrites = {
  /** Changes nothing if somebody else has counted meanwhile. */
  add: (database: Database, { place, last, groups }: Uncounted): void =>
    database.transaction(() => {
      if (database.run(MOVE, last, place) === 0) return
      database.run(ADD_THEIRS, groups)
      database.run(ADD_ALL, groups)
    }),
} satisfies Operations<{ add(found: Uncounted): Promise<void> }>

const numberOf = (database: Database, customerId: string): number | undefined =>
  database.get('SELECT number FROM customer WHERE id = $1', customerId)?.number as number | undefined

/** The reader thread counts, so that deliveries wait only until the sums are added. */
export function sqliteRollUps(writer: StoreThread, reader: StoreThread): RollUpStore {
  const { uncounted, read } = sendOperations(rollUpReads, reader, 'rollUps')
  const { add } = sendOperations(rollUpWrites, writer, 'rollUps')
  return {
    async count(look) {
      const found = await uncounted(look)
      if (found.deliveries > 0) await add(found)
      return found.deliveries
    },
    read,
  }
}
