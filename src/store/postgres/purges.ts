import { AppError } from '#src/lib/app-error.ts'
import { BLOCK_SIZE } from '../shared/blocks.ts'
import { purgeStateFromRow } from '../shared/rows.ts'
import { firstReceiptOf } from '../shared/uuid.ts'
import { storeErrors } from '../store.errors.ts'
import type { PurgeStore } from '../store.ts'
import type { Database, Row } from './database.ts'
import { LOST } from './deliveries/lost.ts'

/**
 * Parts the old deliveries from the young ones with the fewest exceptions, whose clocks were wrong. Looks at those whose receipts,
 * which begin with the time, are nearest to it. The last delivery stays, as in a file.
 */
const END = `
  SELECT least(position, (SELECT max(position) - 1 FROM delivery)) AS position
    FROM (SELECT position, sum(weight) OVER (ORDER BY position) AS balance
            FROM ((SELECT position, 1 AS weight FROM delivery WHERE receipt < $1::uuid ORDER BY receipt DESC LIMIT 10000)
                  UNION ALL
                  (SELECT position, -1 FROM delivery WHERE receipt >= $1::uuid ORDER BY receipt LIMIT 10000)) nearest) parted
   WHERE balance > 0
   ORDER BY balance DESC, position
   LIMIT 1`

const STATE = `
  SELECT generation, position, announced, began_at AS lost_at, last_position AS last_left
    FROM purge LEFT JOIN (${LOST('$1::bigint')}) l ON true`

const ANNOUNCE = 'UPDATE purge SET generation = generation + 1, announced = greatest(announced, $1)'

const PAGE = `
  SELECT looked, deliveries, orders, bytes FROM purge_1($1, $2, $3, $4, $5, $6)`

/** Deletes blocks of positions that are empty now. The last block stays, because the next one comes after it. */
const DELETE_BLOCKS = `
  DELETE FROM delivery_block
   WHERE block = ANY (ARRAY(
     SELECT block FROM block_customers
      WHERE block BETWEEN $1::bigint / ${BLOCK_SIZE} AND $2::bigint / ${BLOCK_SIZE}
        AND (SELECT position FROM delivery WHERE position >= block * ${BLOCK_SIZE} ORDER BY position LIMIT 1) >= (block + 1) * ${BLOCK_SIZE}))
     AND block < (SELECT max(block) FROM delivery_block)`

/** Deletes what only older blocks had. */
const DELETE_LISTS = 'DELETE FROM block_customers WHERE block < (SELECT min(block) FROM delivery_block)'

/** Times that lie too far ahead come from a clock that was wrong. */
const CLAIM = `
  UPDATE purge SET leased_until = $1
   WHERE (leased_until < $2 OR leased_until > $1 + ($1 - $2)) AND (done_before < $3 OR done_before > $2)`

const IS_BLANK = `encode(substr(d.payload, 1, 78), 'escape') ~ '^\\{"SHA256":"[0-9a-f]{64}"\\}$'`

/**
 * The digest is that of the payload. The rest is valid JSON, because programs before `erased_at` show it. A version before 0011
 * erases only the payload and the order id. Of the origin, the API key is left.
 */
const ERASE = `
  WITH looked AS (
    SELECT position, receipt, customer FROM delivery WHERE position > $1::bigint ORDER BY position LIMIT $2
  ), erased AS (
    UPDATE delivery d
       SET order_id = NULL, origin = substr(d.origin, 1, 16),
           payload = CASE WHEN ${IS_BLANK} THEN d.payload
                          ELSE convert_to('{"SHA256":"' || encode(sha256(d.payload), 'hex') || '"}', 'UTF8') END
     WHERE d.receipt = ANY (ARRAY(
             SELECT receipt FROM looked WHERE customer = (SELECT number FROM customer WHERE id = $3)
           ))
       AND (NOT ${IS_BLANK} OR octet_length(d.origin) > 16)
    RETURNING 1
  )
  SELECT (SELECT max(position) FROM looked) AS position, (SELECT count(*) FROM erased) AS deliveries`

const ERASE_NAMES = `
  WITH found AS (SELECT number FROM customer WHERE id = $1), orders AS (
    DELETE FROM order_state WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM order_state WHERE customer = (SELECT number FROM found) LIMIT $2)) RETURNING 1
  ), keys AS (
    DELETE FROM idempotency WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM idempotency WHERE customer = (SELECT number FROM found) LIMIT $2)) RETURNING 1
  ), attempts AS (
    DELETE FROM webhook_attempt WHERE number = ANY (ARRAY(
      SELECT number FROM webhook_attempt WHERE customer = (SELECT number FROM found) LIMIT $2)) RETURNING 1
  )
  SELECT greatest((SELECT count(*) FROM orders), (SELECT count(*) FROM keys), (SELECT count(*) FROM attempts)) AS most`

const RECEIVED_BEFORE = 'SELECT received_at FROM delivery WHERE receipt < $1::uuid ORDER BY receipt DESC LIMIT 1'

const NAMES_AT_ONCE = 500
const MONTHS_AHEAD = 3

/** PostgreSQL gives room back by itself (autovacuum), or with whole months. */
export function postgresPurges({ query, followedAnew }: Database): PurgeStore {
  const allowed = async <Result>(work: Promise<Result>): Promise<Result> => {
    try {
      return await work
    } catch (error) {
      if ((error as { code?: string }).code !== '42501') throw error
      throw new AppError(storeErrors.forbidden, { cause: error })
    }
  }

  const deleteBlocks = async (after: number, looked: number): Promise<void> => {
    if ((await query(DELETE_BLOCKS, after, looked)).count > 0) await query(DELETE_LISTS)
  }

  return {
    async state(place = 0) {
      const state = purgeStateFromRow((await query(STATE, place)).rows[0] as Row)
      if (state.lost === null || state.lost.at !== null) return state
      // A primary that was superseded has not got what came after it.
      return purgeStateFromRow((await followedAnew(STATE, place)).rows[0] as Row)
    },
    async receivedAfter(position) {
      const { rows } = await query(
        'SELECT received_at FROM delivery WHERE position > $1 ORDER BY position LIMIT 1',
        position,
      )
      return rows[0]?.received_at as number | undefined
    },
    receivedBefore: async (time) =>
      (await query(RECEIVED_BEFORE, firstReceiptOf(time))).rows[0]?.received_at as number | undefined,
    endOf: async (before) => Number((await query(END, firstReceiptOf(before))).rows[0]?.position ?? 0),
    async announce(position) {
      await query(ANNOUNCE, position)
    },
    async announceErasure() {
      await query('UPDATE purge SET erasures = erasures + 1')
    },
    async page({ after, until, before, orders, look, dryRun }) {
      const { rows } = await allowed(query(PAGE, after, until, before, orders, look, !dryRun))
      const row = rows[0] as Row
      if (!dryRun && Number(row.deliveries) > 0) await deleteBlocks(after, row.looked as number)
      return {
        deliveries: Number(row.deliveries),
        orders: Number(row.orders),
        payloadBytes: Number(row.bytes),
        position: row.looked as number | null,
      }
    },
    claim: async ({ now, until, due }) => (await query(CLAIM, until, now, due)).count > 0,
    renew: async (from, until) =>
      (await query('UPDATE purge SET leased_until = $1 WHERE leased_until = $2', until, from)).count > 0,
    async finish(before) {
      await query('UPDATE purge SET done_before = $1, leased_until = 0', before)
    },
    giveBack: async () => false,
    rewrite: async () => undefined,
    async keepMonths(before) {
      const made = (await query('SELECT make_months_1($1) AS made', MONTHS_AHEAD)).rows[0]?.made as number
      if (before <= 0) return { made, dropped: [] }
      const dropped: string[] = []
      for (;;) {
        const [row] = (await allowed(query('SELECT drop_months_1($1) AS name', before))).rows
        if (row === undefined) return { made, dropped }
        dropped.push(row.name as string)
      }
    },
    async erase(customerId, after, look) {
      const row = (await allowed(query(ERASE, after, look, customerId))).rows[0] as Row
      return { deliveries: Number(row.deliveries), position: row.position as number | null }
    },
    eraseNames: async (customerId) =>
      Number((await query(ERASE_NAMES, customerId, NAMES_AT_ONCE)).rows[0]?.most) === NAMES_AT_ONCE,
    wipePages: async () => null,
    wipeLog: async () => undefined,
  }
}
