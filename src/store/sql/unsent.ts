import { DAY_MILLISECONDS } from '#src/lib/duration.ts'
import type { PurgePage } from '../purge-store.ts'
import { isWanted } from '../webhook.ts'
import { type Dialect, NO_LIMIT } from './dialect.ts'
import { entriesOf, JOURNAL_BLOCK } from './webhooks/journal.ts'
import { numbersOf } from './webhooks/rows.ts'
import { type Key, type Place, waitingRows } from './webhooks/waiting.ts'
import { all, type Row, type Work } from './work.ts'

/** A delivery that a purge would remove. */
export interface Candidate {
  readonly position: number
  readonly customerId: number
  readonly status: number
  readonly duplicate: boolean
}

export interface Endpoint {
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

/** The deliveries that a page looked at. */
interface Span {
  readonly after: number
  readonly last: number
}

/** By position, the endpoints that have not taken a delivery. */
export type Unsent = ReadonlyMap<number, ReadonlySet<Endpoint>>

/** An endpoint that is paused for longer holds nothing back. */
const MAX_PAUSE_MILLISECONDS = 30 * DAY_MILLISECONDS

const ENDPOINTS = `
  SELECT w.id, w.customer_id IS NULL AS of_all, (SELECT number FROM customer WHERE id = w.customer_id) AS customer, w.statuses,
         w.duplicates, w.paused_at, p.position, p.waiting + p.set_aside > 0 AS has_rows
    FROM webhook_progress p CROSS JOIN webhook w WHERE w.id = p.webhook ORDER BY w.id`
const ADD_REMOVED = (v: string): string =>
  `UPDATE webhook_progress AS p SET removed = p.removed + v.removed FROM ${v} WHERE p.webhook = v.webhook`

export const unsentDeliveries = (dialect: Dialect) => {
  const { among, oneOf, each, batch, pick } = dialect
  const these = (parameter: string): string => oneOf(`SELECT value FROM ${each(parameter, 'e', 'integer')}`)
  const ROWS = `SELECT webhook AS id, position, lane FROM webhook_waiting WHERE webhook ${among('$1')}`
  const ROWS_BETWEEN = `${ROWS} AND position > $2 AND position <= $3`
  const ROWS_AT = `${ROWS} AND position ${these('$2')}`
  // PostgreSQL would also consider the index that has no blocks, which has not got this order.
  const JOURNAL = pick({
    sqlite: `SELECT webhook, block, entries FROM webhook_confirmed WHERE webhook ${among('$1')} AND block ${these('$2')}`,
    postgres: `
      SELECT c.webhook, c.block, c.entries
        FROM ${each('$1', 'w')} CROSS JOIN ${each('$2', 'b', 'integer')} CROSS JOIN LATERAL (
               SELECT * FROM webhook_confirmed WHERE webhook = w.value AND block >= b.value AND block <= b.value
                ORDER BY block LIMIT (SELECT ${NO_LIMIT})) c`,
  })
  const POSITIONS = `SELECT webhook, position FROM webhook_progress WHERE webhook ${among('$1')}`
  const { store } = waitingRows(dialect)
  const addRemoved = batch('webhook text, removed bigint', ADD_REMOVED)

  /** Which of these positions each endpoint has confirmed. */
  function* confirmedOf(ids: readonly string[], positions: readonly number[]): Work<Map<string, Set<number>>> {
    const blocks = [...new Set(positions.map((position) => Math.floor(position / JOURNAL_BLOCK)))]
    const found = new Map(ids.map((id) => [id, new Set<number>()]))
    if (ids.length === 0) return found
    for (const row of yield* all(JOURNAL, ids, blocks))
      for (const { position } of entriesOf(row)) found.get(row.webhook as string)?.add(position)
    return found
  }

  /** The rows of these deliveries, most of which lie after `after` and up to `last`. */
  function* rowsOf(
    ids: readonly string[],
    positions: ReadonlySet<number>,
    { after, last }: Span,
  ): Work<readonly Place[]> {
    if (ids.length === 0) return []
    const rows = [...(yield* all(ROWS_BETWEEN, ids, after, last))]
    const far = [...positions].filter((position) => position <= after || position > last)
    if (far.length > 0) rows.push(...(yield* all(ROWS_AT, ids, far)))
    return (rows as unknown as Place[]).filter(({ position }) => positions.has(position))
  }

  return {
    /** Finds who has not taken which of these deliveries, in a transaction that sees one state. */
    *find(
      candidates: readonly Candidate[],
      span: Span,
      { unsent, now }: Pick<PurgePage, 'unsent' | 'now'>,
    ): Work<Unsent> {
      const found = new Map<number, Set<Endpoint>>()
      if (candidates.length === 0) return found
      const endpoints = (yield* all(ENDPOINTS)).map((row) => endpointFromRow(row, unsent, now))
      const byPosition = new Map(candidates.map((candidate) => [candidate.position, candidate]))
      const add = (position: number, endpoint: Endpoint) =>
        found.getOrInsertComputed(position, () => new Set()).add(endpoint)

      const withRows = new Map(endpoints.filter(({ hasRows }) => hasRows).map((endpoint) => [endpoint.id, endpoint]))
      for (const { id, position } of yield* rowsOf([...withRows.keys()], new Set(byPosition.keys()), span))
        add(position, withRows.get(id) as Endpoint)

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
     * Looks again at what is about to be removed, with the progress locked: something may have been sent since it was found. Returns how to
     * count what was removed although an endpoint has not taken it, in the same transaction; that resolves to the counts by endpoint.
     */
    *settling(
      removals: readonly UnsentRemoval[],
      { now, ...span }: Span & Pick<PurgePage, 'now'>,
    ): Work<(gone: ReadonlySet<number>) => Work<Map<string, number>>> {
      const found = removals.flatMap(({ webhook: id, positions }) => positions.map((position) => ({ id, position })))
      const ids = removals.map(({ webhook }) => webhook)
      const positions = new Set(found.map(({ position }) => position))
      const progress = ids.length === 0 ? [] : yield* all(POSITIONS, ids)
      const reached = new Map(progress.map(({ webhook, position }) => [webhook, position as number]))
      const confirmed = yield* confirmedOf(ids, [...positions])
      const keys = new Set(found.map(keyOf))
      const waiting = (yield* rowsOf(ids, positions, span)).filter((row) => keys.has(keyOf(row)))
      return function* (gone) {
        const counts = new Map<string, number>()
        const rows = waiting.filter(({ position }) => gone.has(position))
        yield* store([], rows, now)
        const waited = new Set(rows.map(keyOf))
        for (const place of found) {
          const { id, position } = place
          const isAfter = position > (reached.get(id) ?? position) && !confirmed.get(id)?.has(position)
          if (gone.has(position) && (isAfter || waited.has(keyOf(place)))) counts.set(id, (counts.get(id) ?? 0) + 1)
        }
        yield* addRemoved([...counts])
        return counts
      }
    },
  }
}

const keyOf = ({ id, position }: Key): string => `${id} ${position}`

const endpointFromRow = (row: Row, unsent: boolean, now: number): Endpoint => ({
  id: row.id as string,
  // No customer has the number 0.
  customerId: row.of_all ? null : ((row.customer as number | null) ?? 0),
  statuses: numbersOf(row.statuses),
  duplicates: Boolean(row.duplicates),
  position: row.position as number,
  hasRows: Boolean(row.has_rows),
  holds: !unsent && (row.paused_at === null || now - (row.paused_at as number) <= MAX_PAUSE_MILLISECONDS),
})

/** Reads a list of deliveries that would go, each with those that have to go together with it: itself, or both that an order needs. */
export const candidatesOf = (list: unknown): { readonly position: number; readonly together: readonly Candidate[] }[] =>
  (JSON.parse((list as string | null) ?? '[]') as number[][]).map(
    ([position = 0, customerId = 0, status = 0, duplicate, needed, state = 0, latest = 0]) => {
      const candidate = { position, customerId, status, duplicate: Boolean(duplicate) }
      if (!needed) return { position, together: [candidate] }
      const first = { ...candidate, position: state, duplicate: false }
      // The latest made the state, or repeats what made it.
      return {
        position,
        together: latest === state ? [first] : [first, { ...candidate, position: latest, duplicate: true }],
      }
    },
  )
