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
import type { Query } from '../database.ts'
import { BEFORE } from './reads.ts'

/** Positions become visible in order (see `deliver_1`), so none before this one can appear later. */
const LAST = 'SELECT max(position) AS position FROM delivery'

const SINCE = `
  SELECT ${pulseKind('$1::bigint')} AS kind, count(*) AS count
    FROM (SELECT received_at, status, echo_of FROM delivery
           WHERE position > $2::bigint AND position <= $3::bigint ORDER BY position LIMIT $4) d
   GROUP BY 1`

/** Receipts begin with the time of receipt, so that a beginning is complete whatever the order of commits. */
const BEGINNING = `
  SELECT ${pulseKind('$1::bigint')} AS kind, count(*) AS count, min(received_at) AS oldest, min(position) AS lowest
    FROM (SELECT position, received_at, status, echo_of FROM delivery
           WHERE receipt >= $2::uuid AND position + 0 <= $3::bigint ORDER BY receipt DESC LIMIT $4) d
   GROUP BY 1`

export function pulseReads(query: Query): Pick<DeliveryStore, 'pulse'> {
  const newestOf = async (last: number, lowest: number, from: number, { newest }: PulseBounds) =>
    (await query(BEFORE, last + 1, lowest, ...filterValues({ from }), newest)).rows.map(summaryFromRow)

  const begin = async (last: number, bounds: PulseBounds): Promise<Pulse> => {
    const { from, receipt } = beginningOf(bounds)
    const { rows } = await query(BEGINNING, from, receipt, last, bounds.look)
    if (rows.length === 0) return noPulse(last, from)
    const { since, oldest, lowest } = beginningFromRows(rows, from, bounds.look)
    const newest = await newestOf(last, Math.max(lowest, last - bounds.look), oldest, bounds)
    return { position: last, since, ...pulseFromRows(rows), newest }
  }

  return {
    async pulse(after, bounds) {
      const last = lastOf((await query(LAST)).rows[0], bounds)
      if (!continues(after, last, bounds)) return begin(last, bounds)
      if (after === last) return noPulse(last)
      const { rows } = await query(SINCE, bounds.from, after, last, bounds.look)
      const newest = await newestOf(last, after + 1, 0, bounds)
      return { position: last, since: undefined, ...pulseFromRows(rows), newest }
    },
  }
}
