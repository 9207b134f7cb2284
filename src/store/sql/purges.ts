import { setTimeout } from 'node:timers/promises'
import { BLOCK_SIZE } from '../shared/blocks.ts'
import { firstReceiptOf } from '../shared/uuid.ts'
import type { PurgedPage, PurgePage, PurgeState, PurgeStore, RollUpStore } from '../store.ts'
import type { Dialect } from './dialect.ts'
import { purgeRecord } from './purge-record.ts'
import { type Candidate, candidatesFromRow, countUnsent, type UnsentRemoval, unsentDeliveries } from './unsent.ts'
import { withinBytes } from './within-bytes.ts'
import { all, change, find, get, type Noun, type Row, run, type Work, walk, wipe } from './work.ts'

/** What finds a delivery fastest: its position in a file, its receipt on PostgreSQL, where that tells the month. */
export type DeliveryKey = string | number

/** An order whose latest delivery is old. */
interface ExpiredOrder {
  readonly customer: number
  readonly orderId: string
  readonly latest: number
}

interface Found {
  readonly keys: readonly DeliveryKey[]
  /** The last position looked at; that before the page at the end. */
  readonly last: number
}

/** What a page of deliveries has to remove: deliveries that no order needs, and orders with the deliveries that they need. */
interface Removable extends Found {
  readonly orders: readonly ExpiredOrder[]
  readonly unsent: readonly UnsentRemoval[]
  readonly wouldRemove: Omit<PurgedPage, 'position'>
}

export interface Removed extends Omit<PurgedPage, 'position' | 'webhooks'> {
  /** How many of them an endpoint had not taken, by its id. */
  readonly unsent: ReadonlyMap<string, number>
}

/** What each database does in its own way. */
export interface OwnSteps
  extends Pick<PurgeStore, 'state' | 'giveBack' | 'rewrite' | 'keepMonths' | 'wipePages' | 'wipeLog'> {
  /** Removes what a page found in one transaction, unless an order got a delivery since. */
  remove(found: Removable, page: PurgePage): Promise<Removed>
  erase(keys: readonly DeliveryKey[]): Promise<number>
}

export interface SharedSteps extends Omit<PurgeStore, keyof OwnSteps | 'page'> {
  removable(page: PurgePage): Promise<Removable>
  /** Whether the hourly counts contain every delivery up to a position. */
  isRolledUp(until: number): Promise<boolean>
  /** Finds what is to be erased among the next deliveries. */
  ofCustomer(customerId: string, after: number, look: number): Promise<Found>
}

const ROLLED_UP_AT_ONCE = 10_000
const AGAIN_MILLISECONDS = 100

export function purgeStore(steps: SharedSteps & OwnSteps, rollUps: Pick<RollUpStore, 'count'>): PurgeStore {
  const { removable, isRolledUp, ofCustomer, remove, erase, ...rest } = steps
  return {
    ...rest,
    async page(page) {
      const found = await removable(page)
      const position = found.last > page.after ? found.last : null
      if (page.dryRun || found.wouldRemove.deliveries === 0) return { ...found.wouldRemove, position }
      // Checked after the deliveries were found: if nothing is left to count now, all of them are counted.
      if (await isRolledUp(page.until)) {
        const { unsent, ...removed } = await remove(found, page)
        const webhooks = found.wouldRemove.webhooks.map((each) => ({ ...each, removed: unsent.get(each.id) ?? 0 }))
        return { ...removed, webhooks, position }
      }
      // On PostgreSQL another replica may be counting.
      if ((await rollUps.count(ROLLED_UP_AT_ONCE)) === 0) await setTimeout(AGAIN_MILLISECONDS)
      return { deliveries: 0, orders: 0, payloadBytes: 0, webhooks: [], position: page.after }
    },
    async erase(customerId, after, look) {
      const { keys, last } = await ofCustomer(customerId, after, look)
      return { deliveries: keys.length > 0 ? await erase(keys) : 0, position: last > after ? last : null }
    },
  }
}

const RECEIVED_AFTER = 'SELECT received_at FROM delivery WHERE position > $1 ORDER BY position LIMIT 1'
const NOT_ROLLED_UP = `
  SELECT 1 FROM delivery WHERE position > (SELECT position FROM roll_up) AND position <= $1 ORDER BY position LIMIT 1`

const ANNOUNCE_ERASURE = 'UPDATE purge SET erasures = erasures + 1'

/** Deletes what only older blocks had. */
const DELETE_LISTS = 'DELETE FROM block_customers WHERE block < (SELECT min(block) FROM delivery_block)'

const NUMBER = '(SELECT number FROM customer WHERE id = $1)'
const NAMES_AT_ONCE = 500

const blockOf = (position: number): number => Math.floor(position / BLOCK_SIZE)

/** Deletes blocks of positions that are empty now. The last block stays, because the next one comes after it. */
export function* deleteBlocks({ oneOf }: Dialect, after: number, last: number): Work<void> {
  const EMPTY = `
    SELECT block FROM block_customers
     WHERE block >= $1 AND block <= $2
       AND (SELECT position FROM delivery WHERE position >= block * ${BLOCK_SIZE} ORDER BY position LIMIT 1) >= (block + 1) * ${BLOCK_SIZE}`
  const DELETE = `DELETE FROM delivery_block WHERE block ${oneOf(EMPTY)} AND block < (SELECT max(block) FROM delivery_block)`
  if ((yield* run(DELETE, blockOf(after), blockOf(last))) > 0) yield* run(DELETE_LISTS)
}

export const purges = (dialect: Dialect): Noun<SharedSteps> => {
  const { larger, smaller, oneOf, receipt, pick, requireErasing } = dialect
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
  /** Inner queries find the orders: in a join, PostgreSQL without statistics would read all of them. */
  const OF_ORDER = 'FROM order_state s WHERE s.customer = d.customer AND s.order_id = d.order_id'
  const PAGE = `
    SELECT p.*, CASE WHEN $4 THEN (SELECT received_at FROM delivery WHERE position = p.latest_position LIMIT 1) END AS latest_at
      FROM (SELECT position, ${KEY} AS key, received_at, octet_length(payload) AS bytes, customer, order_id, status,
                   echo_of IS NOT NULL AS duplicate, (SELECT state_position ${OF_ORDER}) AS state_position, (SELECT latest_position ${OF_ORDER}) AS latest_position
              FROM delivery d WHERE position > $1 AND position <= $2 ORDER BY position LIMIT $3) p
     ORDER BY p.position`
  const OF_CUSTOMER = `
    SELECT position, ${KEY} AS key, octet_length(payload) AS bytes, customer = ${NUMBER} AS found
      FROM delivery WHERE position > $2 ORDER BY position LIMIT $3`
  const ofOne = (key: string, table: string): string =>
    oneOf(`SELECT ${key} FROM ${table} WHERE customer = ${NUMBER} LIMIT $2`)
  const ERASE_NAMES = [
    `DELETE FROM order_state WHERE customer = ${NUMBER} AND order_id ${ofOne('order_id', 'order_state')}`,
    `DELETE FROM idempotency WHERE customer = ${NUMBER} AND key ${ofOne('key', 'idempotency')}`,
    `DELETE FROM webhook_attempt WHERE number ${ofOne('number', 'webhook_attempt')}`,
  ]

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
    announceErasure: change(function* () {
      yield* run(ANNOUNCE_ERASURE)
    }),
    ...purgeRecord,
    removable: walk(function* (page) {
      const { before, orders, after, until, look } = page
      const rows = withinBytes(yield* all(PAGE, after, until, look, orders))
      const last = lastOf(rows, after)
      const keys: DeliveryKey[] = []
      const expired = new Map<number, ExpiredOrder>()
      const wouldRemove = { deliveries: 0, orders: 0, payloadBytes: 0 }
      const isNeeded = (row: Row): boolean =>
        row.position === row.latest_position || row.position === row.state_position
      // Followers are told of nothing after `until`.
      const isExpired = (row: Row): boolean =>
        orders && Number(row.latest_at ?? 0) < before && (row.latest_position as number) <= until
      const old = rows.filter((row) => (row.received_at as number) < before && (!isNeeded(row) || isExpired(row)))
      const parts = old.map((row) => candidatesFromRow(row, isNeeded(row)))
      const unsent = countUnsent(yield* findUnsent(parts.flat(), { after, last }, page))
      for (const [index, row] of old.entries()) {
        if (unsent.keeps(row.position as number, parts[index] as readonly Candidate[])) continue
        if (isNeeded(row)) expired.set(row.latest_position as number, expiredFromRow(row))
        else keys.push(row.key as DeliveryKey)
        wouldRemove.deliveries++
        wouldRemove.orders += Number(row.position === row.latest_position)
        wouldRemove.payloadBytes += row.bytes as number
      }
      const { webhooks, removals } = unsent
      return {
        keys,
        orders: [...expired.values()],
        unsent: removals(),
        wouldRemove: { ...wouldRemove, webhooks: webhooks() },
        last,
      }
    }),
    isRolledUp: find(function* (until) {
      return (yield* get(NOT_ROLLED_UP, until)) === undefined
    }),
    ofCustomer: walk(function* (customerId, after, look) {
      yield* requireErasing()
      const rows = withinBytes(yield* all(OF_CUSTOMER, customerId, after, look))
      const keys = rows.filter(({ found }) => Boolean(found)).map(({ key }) => key as DeliveryKey)
      return { keys, last: lastOf(rows, after) }
    }),
    eraseNames: wipe(function* (customerId) {
      let most = 0
      for (const sql of ERASE_NAMES) most = Math.max(most, yield* run(sql, customerId, NAMES_AT_ONCE))
      return most === NAMES_AT_ONCE
    }),
  }
}

const lastOf = (rows: readonly Row[], after: number): number => Number(rows.at(-1)?.position ?? after)

const expiredFromRow = (row: Row): ExpiredOrder => ({
  customer: row.customer as number,
  orderId: row.order_id as string,
  latest: row.latest_position as number,
})

export const purgeStateFromRow = (row: Row): PurgeState => ({
  generation: row.generation as number,
  position: row.position as number,
  announced: row.announced as number,
  lost: row.last_left === null ? null : { at: row.lost_at as number | null, lastPosition: row.last_left as number },
})
