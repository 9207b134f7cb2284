import type { PurgePage, UnsentCount } from '../purge-store.ts'
import { isWanted } from '../webhook-store.ts'
import type { Dialect } from './dialect.ts'
import { all, get, type Row, run, type Work } from './work.ts'

/** A delivery that a purge would remove. */
export interface Candidate {
  readonly position: number
  readonly customerId: number
  readonly status: number
  readonly duplicate: boolean
}

interface Endpoint {
  readonly id: string
  readonly customerId: number | null
  readonly statuses: readonly number[] | null
  readonly duplicates: boolean
  readonly position: number
  readonly hasRows: boolean
  /** What it has not taken stays. */
  readonly holds: boolean
}

/** Deliveries that are about to be removed although an endpoint has not taken them. */
export interface UnsentRemoval {
  readonly webhook: string
  readonly positions: readonly number[]
}

/** By position, the endpoints that have not taken a delivery. */
export type Unsent = ReadonlyMap<number, ReadonlySet<Endpoint>>

/** An endpoint that is paused for longer holds nothing back. */
const MAX_PAUSE_MILLISECONDS = 30 * 86_400_000

const JOURNAL_BLOCK = 4096
// Until the store of webhooks has it.
const confirmationsFrom = (block: number, entries: Uint8Array): { position: number }[] =>
  Array.from({ length: entries.length / 2 }, (_, at) => ({
    position: block * JOURNAL_BLOCK + Buffer.from(entries).readUInt16LE(2 * at),
  }))

const ENDPOINTS = `
  SELECT w.id, w.customer_id IS NULL AS of_all, (SELECT number FROM customer WHERE id = w.customer_id) AS customer, w.statuses,
         w.duplicates, w.paused_at, p.position, p.waiting + p.set_aside > 0 AS has_rows
    FROM webhook_progress p CROSS JOIN webhook w WHERE w.id = p.webhook ORDER BY w.id`
const REMOVED = `
  UPDATE webhook_progress
     SET removed = removed + $2, waiting = waiting - $3, failing = failing - $4, set_aside = set_aside - $5,
         failing_since = CASE WHEN failing > $4 THEN failing_since END
   WHERE webhook = $1`
const POSITION = 'SELECT position FROM webhook_progress WHERE webhook = $1'

export const unsentDeliveries = ({ among, oneOf, each }: Dialect) => {
  const these = (parameter: string): string => oneOf(`SELECT value FROM ${each(parameter, 'e', 'integer')}`)
  const ROWS = `SELECT webhook, position FROM webhook_waiting WHERE webhook ${among('$1')}`
  const ROWS_BETWEEN = `${ROWS} AND position > $2 AND position <= $3`
  const ROWS_AT = `${ROWS} AND position ${these('$2')}`
  const JOURNAL = `SELECT webhook, block, entries FROM webhook_confirmed WHERE webhook ${among('$1')} AND block ${these('$2')}`
  const DELETE = `
    DELETE FROM webhook_waiting WHERE webhook = $1 AND position ${these('$2')}
    RETURNING position, lane, failures, set_aside_at IS NOT NULL AS set_aside`
  const PROMOTE = `
    UPDATE webhook_waiting SET next_at = $3
     WHERE webhook = $1 AND lane ${these('$2')} AND set_aside_at IS NULL AND next_at IS NULL
       AND position = (SELECT min(position) FROM webhook_waiting q
                        WHERE q.webhook = $1 AND q.lane = webhook_waiting.lane AND q.set_aside_at IS NULL)`

  /** What is confirmed of these positions, by endpoint. */
  function* confirmedOf(ids: readonly string[], positions: readonly number[]): Work<Map<string, Set<number>>> {
    const blocks = [...new Set(positions.map((position) => Math.floor(position / JOURNAL_BLOCK)))]
    const found = new Map(ids.map((id) => [id, new Set<number>()]))
    for (const { webhook, block, entries } of yield* all(JOURNAL, ids, blocks)) {
      for (const { position } of confirmationsFrom(block as number, entries as Uint8Array)) {
        found.get(webhook as string)?.add(position)
      }
    }
    return found
  }

  return {
    /**
     * Finds who has not taken which of these deliveries, most of which lie after `after` and up to `last`. Endpoints are read first: a
     * delivery that leaves the part after their positions meanwhile is then found either there or among the rows.
     */
    *find(
      candidates: readonly Candidate[],
      last: number,
      { after, unsent, now }: Pick<PurgePage, 'after' | 'unsent' | 'now'>,
    ): Work<Unsent> {
      const found = new Map<number, Set<Endpoint>>()
      if (candidates.length === 0) return found
      const endpoints = (yield* all(ENDPOINTS)).map((row) => endpointFromRow(row, unsent, now))
      const byPosition = new Map(candidates.map((candidate) => [candidate.position, candidate]))
      const add = (position: number, endpoint: Endpoint) =>
        void found.set(position, (found.get(position) ?? new Set()).add(endpoint))

      const withRows = new Map(endpoints.filter(({ hasRows }) => hasRows).map((endpoint) => [endpoint.id, endpoint]))
      if (withRows.size > 0) {
        const ids = [...withRows.keys()]
        const far = [...byPosition.keys()].filter((position) => position <= after || position > last)
        const rows = [...(yield* all(ROWS_BETWEEN, ids, after, last))]
        if (far.length > 0) rows.push(...(yield* all(ROWS_AT, ids, far)))
        for (const { webhook, position } of rows) {
          if (byPosition.has(position as number)) add(position as number, withRows.get(webhook as string) as Endpoint)
        }
      }

      const positions = [...byPosition.keys()]
      const highest = Math.max(...positions)
      const behind = endpoints.filter(({ position }) => position < highest)
      if (behind.length === 0) return found
      const lowest = Math.min(...behind.map(({ position }) => position))
      const confirmed = yield* confirmedOf(
        behind.map(({ id }) => id),
        positions.filter((position) => position > lowest),
      )
      for (const endpoint of behind) {
        const taken = confirmed.get(endpoint.id)
        for (const candidate of byPosition.values()) {
          const { position } = candidate
          if (position > endpoint.position && isWanted(endpoint, candidate) && !taken?.has(position))
            add(position, endpoint)
        }
      }
      return found
    },

    /**
     * Counts what was removed although an endpoint has not taken it, in the transaction of the removal, which has locked its progress.
     * Resolves to the counts by endpoint: something may have been sent since it was found.
     */
    *settle(removals: readonly UnsentRemoval[], gone: ReadonlySet<number>, now: number): Work<Map<string, number>> {
      const counts = new Map<string, number>()
      for (const { webhook, positions } of removals) {
        const position = (yield* get(POSITION, webhook))?.position as number | undefined
        const theirs = positions.filter((each) => gone.has(each))
        if (position === undefined || theirs.length === 0) continue
        const taken = (yield* confirmedOf([webhook], theirs)).get(webhook)
        const rows = yield* all(DELETE, webhook, theirs)
        const removed = new Set(theirs.filter((each) => each > position && !taken?.has(each)))
        for (const row of rows) removed.add(row.position as number)
        if (removed.size === 0) continue
        const setAside = rows.filter(({ set_aside: aside }) => Boolean(aside)).length
        const failing = rows.filter(({ set_aside: aside, failures }) => !aside && Number(failures) > 0).length
        yield* run(REMOVED, webhook, removed.size, rows.length - setAside, failing, setAside)
        const lanes = rows.map(({ lane }) => lane as number)
        if (lanes.length > 0) yield* run(PROMOTE, webhook, lanes, now)
        counts.set(webhook, removed.size)
      }
      return counts
    },
  }
}

const endpointFromRow = (row: Row, unsent: boolean, now: number): Endpoint => ({
  id: row.id as string,
  // No customer has the number 0.
  customerId: row.of_all ? null : ((row.customer as number | null) ?? 0),
  statuses: numbersOf(row.statuses as string | null),
  duplicates: Boolean(row.duplicates),
  position: row.position as number,
  hasRows: Boolean(row.has_rows),
  holds: !unsent && (row.paused_at === null || now - (row.paused_at as number) <= MAX_PAUSE_MILLISECONDS),
})

const numbersOf = (text: string | null): number[] | null =>
  text === null ? null : text.split(',').filter(Boolean).map(Number)

/** Returns the deliveries that have to go together: one that no order needs, or both that an order needs. */
export function candidatesFromRow(row: Row, isNeeded: boolean): Candidate[] {
  const candidate = {
    position: row.position as number,
    customerId: row.customer as number,
    status: row.status as number,
    duplicate: Boolean(row.duplicate),
  }
  if (!isNeeded) return [candidate]
  const [state, latest] = [row.state_position as number, row.latest_position as number]
  // The latest made the state, or repeats what made it.
  return [
    { ...candidate, position: state, duplicate: false },
    ...(latest === state ? [] : [{ ...candidate, position: latest, duplicate: true }]),
  ]
}

/** Decides what stays, and counts it. */
export function countUnsent(unsent: Unsent) {
  const counts = new Map<Endpoint, { kept: number; last: number; removed: number; readonly positions: Set<number> }>()
  const countOf = (endpoint: Endpoint) => {
    const count = counts.get(endpoint) ?? { kept: 0, last: 0, removed: 0, positions: new Set() }
    counts.set(endpoint, count)
    return count
  }
  return {
    /** Whether a delivery stays, because an endpoint has not taken it, or another one that has to go with it. */
    keeps(position: number, together: readonly Candidate[]): boolean {
      const endpoints = together.flatMap((each) =>
        Array.from(unsent.get(each.position) ?? [], (one) => [each.position, one] as const),
      )
      const own = [...(unsent.get(position) ?? [])]
      if (!endpoints.some(([, { holds }]) => holds)) {
        for (const [each, endpoint] of endpoints) countOf(endpoint).positions.add(each)
        for (const endpoint of own) countOf(endpoint).removed++
        return false
      }
      for (const endpoint of own.filter(({ holds }) => holds)) {
        const count = countOf(endpoint)
        count.kept++
        count.last = Math.max(count.last, position)
      }
      return true
    },
    webhooks: (): UnsentCount[] =>
      Array.from(counts, ([{ id }, { kept, last, removed }]) => ({ id, kept, last, removed })),
    removals: (): UnsentRemoval[] =>
      Array.from(counts, ([{ id }, { positions }]) => ({ webhook: id, positions: [...positions] }))
        .filter(({ positions }) => positions.length > 0)
        .toSorted((one, other) => (one.webhook < other.webhook ? -1 : 1)),
  }
}
