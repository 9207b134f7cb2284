import {
  beginningFromRows,
  beginningOf,
  continues,
  lastOf,
  noPulse,
  pulseFromRows,
  pulseKind,
} from '#src/store/shared/pulse.ts'
import { summaryFromRow } from '#src/store/shared/rows.ts'
import { filterValues } from '#src/store/shared/walks.ts'
import type { DeliveryStore, Pulse, PulseBounds } from '#src/store/store.ts'
import type { Database, Row } from '../database.ts'
import type { Operations } from '../thread/operations.ts'
import { BEFORE } from './reads.ts'

const LAST = 'SELECT max(position) AS position FROM delivery'

const SINCE = `
  SELECT ${pulseKind('$1')} AS kind, count(*) AS count
    FROM delivery WHERE position > $2 AND position <= $3 GROUP BY 1`

/** Receipts begin with the time of receipt, so that a beginning is complete whatever the order of commits. */
const BEGINNING = `
  SELECT ${pulseKind('$1')} AS kind, count(*) AS count, min(received_at) AS oldest, min(position) AS lowest
    FROM (SELECT position, received_at, status, echo_of
            FROM delivery WHERE receipt >= unhex($2) AND +position <= $3 ORDER BY receipt DESC LIMIT $4)
   GROUP BY 1`

/** Run by the reader thread. */
export const pulseReads = {
  pulse(database, after, bounds) {
    const last = lastOf(database.get(LAST), bounds)
    if (!continues(after, last, bounds)) return begin(database, last, bounds)
    if (after === last) return noPulse(last)
    const counts = pulseFromRows(database.all(SINCE, bounds.from, after, last))
    return { position: last, since: undefined, ...counts, newest: newestOf(database, last, after + 1, 0, bounds) }
  },
} satisfies Operations<DeliveryStore>

function begin(database: Database, last: number, bounds: PulseBounds): Pulse {
  const { from, receipt } = beginningOf(bounds)
  const rows: Row[] = database.all(BEGINNING, from, receipt, last, bounds.look)
  if (rows.length === 0) return noPulse(last, from)
  const { since, oldest, lowest } = beginningFromRows(rows, from, bounds.look)
  const newest = newestOf(database, last, Math.max(lowest, last - bounds.look), oldest, bounds)
  return { position: last, since, ...pulseFromRows(rows), newest }
}

const newestOf = (database: Database, last: number, lowest: number, from: number, { newest }: PulseBounds) =>
  database.all(BEFORE, last + 1, lowest, ...filterValues({ from }), newest).map(summaryFromRow)
