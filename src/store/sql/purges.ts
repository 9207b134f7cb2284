import { setTimeout } from 'node:timers/promises'
import type { PurgedPage, PurgePage, PurgeState, PurgeStore, RollUpStore } from '../store.ts'
import { countUnsent } from './count-unsent.ts'
import type { Dialect } from './dialect.ts'
import { type ErasureSteps, erasures } from './erasures.ts'
import { type Found, foundFromRow, lookWithinBytes } from './purge-page.ts'
import { purgeRecord } from './purge-record.ts'
import { candidatesOf, type UnsentRemoval, unsentDeliveries } from './unsent.ts'
import { firstReceiptOf } from './uuid.ts'
import { change, find, get, type Noun, type Row, run, snapshot, type Work, walk } from './work.ts'

/** What a page of deliveries has to remove: deliveries that no order needs, and orders with the deliveries that they need. */
interface Removable extends Found {
  /** A list of the positions of the latest deliveries of these orders. */
  readonly latests: string
  readonly unsent: readonly UnsentRemoval[]
  readonly wouldRemove: Omit<PurgedPage, 'position'>
  /** Whether the hourly counts contain every delivery that the purge may remove. */
  readonly isRolledUp: boolean
}

export interface Removed extends Omit<PurgedPage, 'position' | 'webhooks'> {
  /** How many of them an endpoint had not taken, by its id. */
  readonly unsent: ReadonlyMap<string, number>
}

/** What each database does in its own way. */
export interface OwnSteps
  extends Pick<PurgeStore, 'state' | 'giveBack' | 'rewrite' | 'keepMonths' | 'wipePages' | 'wipeLog'> {
  /** Returns how many it has erased: not those that were before. */
  erase(keys: string, withOrderIds: boolean): Promise<number>
  /** Removes what a page found in one transaction, unless an order got a delivery since. */
  remove(found: Removable, page: PurgePage): Promise<Removed>
}

export interface SharedSteps
  extends ErasureSteps,
    Omit<PurgeStore, keyof OwnSteps | keyof ErasureSteps | 'page' | 'eraseSome' | 'erasable'> {
  removable(page: PurgePage): Promise<Removable>
}

const ROLLED_UP_AT_ONCE = 10_000
const AGAIN_MILLISECONDS = 100

export function purgeStore(steps: SharedSteps & OwnSteps, rollUps: Pick<RollUpStore, 'count'>): PurgeStore {
  const { removable, remove, ofCustomer, findErasable, forgetAttempts, erase, ...rest } = steps
  return {
    ...rest,
    async erase(customerId, after, look) {
      const { keys, count, last } = await ofCustomer(customerId, after, look)
      return { deliveries: count > 0 ? await erase(keys, true) : 0, position: last > after ? last : null }
    },
    erasable: async (scope) => [...(await findErasable(scope)).positions],
    async eraseSome(scope) {
      const { keys, positions, allPositions } = await findErasable(scope)
      const erased = positions.length > 0 ? await erase(keys, false) : 0
      // Afterwards: from then on no attempt is kept with an answer, which may hold what was sent.
      if (allPositions.length > 0) await forgetAttempts(scope.customerId, allPositions)
      return erased
    },
    async page(page) {
      const found = await removable(page)
      const position = found.last > page.after ? found.last : null
      if (page.dryRun || found.wouldRemove.deliveries === 0) return { ...found.wouldRemove, position }
      if (found.isRolledUp) {
        const { unsent, ...removed } = await remove(found, page)
        const webhooks = found.wouldRemove.webhooks.map((each) => ({ ...each, removed: unsent.get(each.id) ?? 0 }))
        return { ...removed, webhooks, position }
      }
      // On PostgreSQL another replica may be counting.
      if ((await rollUps.count(ROLLED_UP_AT_ONCE)) === 0) await setTimeout(AGAIN_MILLISECONDS)
      return { deliveries: 0, orders: 0, payloadBytes: 0, webhooks: [], position: page.after }
    },
  }
}

const RECEIVED_AFTER = 'SELECT received_at FROM delivery WHERE position > $1 ORDER BY position LIMIT 1'
const NOT_ROLLED_UP = `
  SELECT position FROM delivery WHERE position > (SELECT position FROM roll_up) AND position <= $2 ORDER BY position LIMIT 1`

/** Positions in a block, and blocks in a span, as in `functions/blocks.sql` of PostgreSQL. */
export const BLOCK_SIZE = 4096
export const SPAN_BLOCKS = 64

/** Deletes what only older blocks had. */
const DELETE_LISTS = 'DELETE FROM block_customers WHERE block < (SELECT min(block) FROM delivery_block)'
const DELETE_SPANS = `DELETE FROM span_customers WHERE span < (SELECT min(block) / ${SPAN_BLOCKS} FROM delivery_block)`

const blockOf = (position: number): number => Math.floor(position / BLOCK_SIZE)

/** Deletes blocks of positions that are empty now. The last block stays, because the next one comes after it. */
export function* deleteBlocks({ oneOf }: Dialect, after: number, last: number): Work<void> {
  const EMPTY = `
    SELECT block FROM block_customers
     WHERE block >= $1 AND block <= $2
       AND (SELECT position FROM delivery WHERE position >= block * ${BLOCK_SIZE} ORDER BY position LIMIT 1) >= (block + 1) * ${BLOCK_SIZE}`
  const DELETE = `DELETE FROM delivery_block WHERE block ${oneOf(EMPTY)} AND block < (SELECT max(block) FROM delivery_block)`
  // Several pages lie in one block. One that ends before a gap is deleted with the next page, or by the next purge.
  if (blockOf(after) === blockOf(last + 1)) return
  if ((yield* run(DELETE, blockOf(after), blockOf(last))) === 0) return
  yield* run(DELETE_LISTS)
  yield* run(DELETE_SPANS)
}

/** Whether an endpoint may not have taken something of a page. */
const MAY_BE_UNSENT = 'EXISTS (SELECT 1 FROM webhook_progress WHERE position < $2 OR waiting + set_aside > 0)'

export const purges = (dialect: Dialect): Noun<SharedSteps> => {
  const { larger, smaller, list, each, joinOne, oneOf, receipt, pick } = dialect
  const { find: findUnsent } = unsentDeliveries(dialect)
  const KEY = pick({ sqlite: 'position', postgres: 'receipt' })
  const RECEIVED_BEFORE = `
    SELECT received_at FROM delivery WHERE receipt < ${receipt('$1')} ORDER BY receipt DESC LIMIT 1`
  /**
   * Parts the old deliveries from the young ones with the fewest exceptions, whose clocks were wrong. Looks at those whose receipts,
   * which begin with the time, are nearest to it. The last delivery stays, because a file gives the next one the position after it.
   */
  const END = `
    SELECT ${smaller('position', '(SELECT max(position) - 1 FROM delivery)')} AS position
      FROM (SELECT position, sum(weight) OVER (ORDER BY position) AS balance
              FROM (SELECT * FROM (SELECT position, 1 AS weight FROM delivery
                                    WHERE receipt < ${receipt('$1')} ORDER BY receipt DESC LIMIT 10000) old
                    UNION ALL
                    SELECT * FROM (SELECT position, -1 AS weight FROM delivery
                                    WHERE receipt >= ${receipt('$1')} ORDER BY receipt LIMIT 10000) young) nearest) parted
     WHERE balance > 0
     ORDER BY balance DESC, position
     LIMIT 1`
  const ANNOUNCE = `UPDATE purge SET generation = generation + 1, announced = ${larger('announced', '$1')}`
  /** For `candidatesOf`. */
  const CANDIDATE = 'position, customer, status, echo_of IS NOT NULL, needed, state_position, latest_position'
  const CANDIDATES = pick({
    sqlite: `json_group_array(json_array(${CANDIDATE})) FILTER (WHERE gone AND ${MAY_BE_UNSENT})`,
    postgres: `(json_agg(json_build_array(${CANDIDATE})) FILTER (WHERE gone AND ${MAY_BE_UNSENT}))::text`,
  })
  const NEEDED = 'coalesce(d.position IN (s.state_position, s.latest_position), false)'
  const LATEST_AT = 'coalesce((SELECT received_at FROM delivery WHERE position = s.latest_position LIMIT 1), 0)'
  /** Deliveries at the positions in `$6` stay. */
  const PAGE = `
    SELECT (${NOT_ROLLED_UP}) IS NULL AS rolled_up, max(position) AS last, count(*) AS looked_at, sum(bytes) AS total_bytes,
           count(*) FILTER (WHERE gone) AS deliveries, sum(bytes) FILTER (WHERE gone) AS bytes, count(*) FILTER (WHERE gone AND position = latest_position) AS orders,
           ${list('key', 'gone AND NOT needed')} AS keys, ${list('latest_position', 'gone AND needed')} AS latests, ${CANDIDATES} AS candidates
      FROM (SELECT d.position, d.${KEY} AS key, octet_length(d.payload) AS bytes, d.customer, d.status, d.echo_of, s.state_position, s.latest_position,
                   ${NEEDED} AS needed,
                   d.received_at < $4 AND (NOT ${NEEDED} OR $5 AND s.latest_position <= $2 AND ${LATEST_AT} < $4)
                     AND NOT d.position ${oneOf(`SELECT value FROM ${each('$6', 'e', 'integer')}`)} AS gone
              FROM delivery d ${joinOne('order_state', 's', 's.customer = d.customer AND s.order_id = d.order_id')}
             WHERE d.position > $1 AND d.position <= $2 ORDER BY d.position LIMIT $3) page`

  return {
    receivedAfter: find(function* (position) {
      return (yield* get(RECEIVED_AFTER, position))?.received_at as number | undefined
    }),
    receivedBefore: find(function* (time) {
      return (yield* get(RECEIVED_BEFORE, firstReceiptOf(time)))?.received_at as number | undefined
    }),
    endOf: walk(function* (before) {
      return Number((yield* get(END, firstReceiptOf(before)))?.position ?? 0)
    }),
    announce: change(function* (position) {
      yield* run(ANNOUNCE, position)
    }),
    ...purgeRecord,
    ...erasures(dialect),
    removable: snapshot(function* (page) {
      const { before, orders, after, until, scan } = page
      const find = (look: number, kept: readonly number[] = []) => get(PAGE, after, until, look, before, orders, kept)
      let row = yield* lookWithinBytes(scan, find)
      const { last } = foundFromRow(row, after)
      const candidates = candidatesOf(row.candidates)
      const unsent = countUnsent(
        yield* findUnsent(
          candidates.flatMap(({ together }) => together),
          { after, last },
          page,
        ),
      )
      const kept = candidates.filter(({ position, together }) => unsent.keeps(position, together))
      if (kept.length > 0) {
        const positions = kept.map(({ position }) => position)
        row = (yield* find(row.looked_at as number, positions)) as Row
      }
      return {
        ...foundFromRow(row, after),
        latests: row.latests as string,
        unsent: unsent.removals(),
        wouldRemove: {
          deliveries: Number(row.deliveries),
          orders: Number(row.orders),
          payloadBytes: Number(row.bytes ?? 0),
          webhooks: unsent.webhooks(),
        },
        isRolledUp: Boolean(row.rolled_up),
      }
    }),
  }
}

export const purgeStateFromRow = (row: Row): PurgeState => ({
  generation: row.generation as number,
  position: row.position as number,
  announced: row.announced as number,
  lost: row.last_left === null ? null : { at: row.lost_at as number | null, lastPosition: row.last_left as number },
})
