import type { RollUpStore } from '../roll-up-store.ts'
import { rollUps } from '../sql/roll-ups.ts'
import { all, get, type Noun, run, walk, write } from '../sql/work.ts'

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

interface Uncounted {
  readonly place: number
  /** The position of the last one. */
  readonly last: number
  readonly deliveries: number
  /** Customer, hour, Status, duplicate and count, as JSON. */
  readonly groups: string
}

export interface Counting extends Pick<RollUpStore, 'read'> {
  uncounted(look: number): Promise<Uncounted>
  /** Changes nothing if somebody else has counted meanwhile. */
  add(found: Uncounted): Promise<void>
}

/** The reader thread counts, so that deliveries wait only until the sums are added. */
export const rollUpStore = ({ uncounted, add, read }: Counting): RollUpStore => ({
  async count(look) {
    const found = await uncounted(look)
    if (found.deliveries > 0) await add(found)
    return found.deliveries
  },
  read,
})

export const counting: Noun<Counting> = {
  ...rollUps,
  uncounted: walk(function* (look) {
    const place = (yield* get('SELECT position FROM roll_up'))?.position as number
    const rows = yield* all(UNCOUNTED, place, look)
    return {
      place,
      last: rows.reduce((last, { position }) => Math.max(last, position as number), place),
      deliveries: rows.reduce((sum, { count }) => sum + (count as number), 0),
      groups: JSON.stringify(rows.map((row) => [row.customer, row.hour, row.status, row.duplicate, row.count])),
    }
  }),
  add: write(function* ({ place, last, groups }) {
    if ((yield* run(MOVE, last, place)) === 0) return
    yield* run(ADD_THEIRS, groups)
    yield* run(ADD_ALL, groups)
  }),
}
