import { type Laned, MAX_PAUSE_MILLISECONDS, type WebhookStore } from '../../store.ts'
import type { Dialect } from '../dialect.ts'
import { all, get, type Noun, type Row, snapshot } from '../work.ts'
import { deliveredAt, dueFromRow, ORDER, orderFromRow, receiptFromRow, WAITING, waitingFromRow } from './rows.ts'
import { firstOf } from './waiting.ts'

/** Rows of one lane that are read together: more if there are few lanes, whose next rows each wait for the save of these. */
const MAX_OF_LANE = 32
const FEW_LANES = 4
const MAX_OF_FEW = 256

export const waitingReads = (
  dialect: Dialect,
): Noun<Pick<WebhookStore, 'held' | 'due' | 'failing' | 'oldestWaiting'>> => {
  const { batch, indexedBy, oneOf, one, joinOne, uuid } = dialect
  const first = firstOf(dialect)
  const held = batch(
    'webhook text, position bigint, lane bigint',
    (v) => `
      SELECT v.position FROM ${v}
       WHERE ${first('v')} IS NOT NULL
          OR (SELECT w.position FROM webhook_waiting w WHERE w.webhook = v.webhook AND w.position = v.position LIMIT 1) IS NOT NULL`,
  )
  const LANES = `
    SELECT lane, next_at FROM webhook_waiting WHERE webhook = $1 AND next_at IS NOT NULL ORDER BY next_at LIMIT $2`
  const DELIVERED = joinOne('delivery', 'd', 'd.position = w.position')
  const ofLanes = (most: number) =>
    batch(
      'webhook text, lane bigint',
      (v) => `
      SELECT ${WAITING}, ${uuid('d.receipt')} AS receipt, d.received_at
        FROM ${v} CROSS JOIN webhook_waiting w ${DELIVERED}
       WHERE w.webhook = v.webhook
         AND w.position ${oneOf(`
           SELECT b.position FROM webhook_waiting b ${indexedBy('webhook_waiting_lane')}
            WHERE b.webhook = v.webhook AND b.lane = v.lane AND b.set_aside_at IS NULL ORDER BY b.position LIMIT ${most}`)}`,
    )
  const someOfLanes = ofLanes(MAX_OF_LANE)
  const moreOfLanes = ofLanes(MAX_OF_FEW)
  const FAILING = (index: string, which: string): string => `
    SELECT ${WAITING}, ${uuid('d.receipt')} AS receipt, ${ORDER}
      FROM webhook_waiting w ${indexedBy(index)} ${deliveredAt(dialect, 'w.position')}
     WHERE w.webhook = $1 AND ${which} LIMIT $2`
  const SET_ASIDE = FAILING('webhook_waiting_set_aside', 'w.set_aside_at IS NOT NULL ORDER BY w.position')
  const FAILED = FAILING(
    'webhook_waiting_answered',
    'w.answered = $3 AND w.failures > 0 AND w.set_aside_at IS NULL ORDER BY w.next_at NULLS FIRST',
  )
  const OLDEST = `
    SELECT d.received_at
      FROM (SELECT position, set_aside_at, replayed FROM webhook_waiting WHERE webhook = $1 ORDER BY position LIMIT $2) looked
           ${one('delivery', 'd', 'd.position = looked.position')}
     WHERE looked.set_aside_at IS NULL AND NOT looked.replayed
     ORDER BY looked.position LIMIT 1`

  return {
    held: snapshot(function* (id, deliveries) {
      const rows = yield* held(deliveries.map(({ position, lane }) => [id, position, lane]))
      return rows.map(({ position }) => position as number)
    }),
    due: snapshot(function* (id, now, lanes) {
      const next = yield* all(LANES, id, lanes + 1)
      const isDue = ({ next_at }: Row): boolean =>
        (next_at as number) <= now || (next_at as number) > now + MAX_PAUSE_MILLISECONDS
      const due = next.slice(0, lanes).filter(isDue)
      const read = due.length <= FEW_LANES ? moreOfLanes : someOfLanes
      const rows = (yield* read(due.map(({ lane }) => [id, lane as number]))).map(dueFromRow)
      const places = new Map(due.map(({ lane }, place) => [lane, place]))
      const placeOf = ({ lane }: Laned): number => places.get(lane) as number
      return {
        deliveries: rows.sort((one, other) => placeOf(one) - placeOf(other) || one.position - other.position),
        nextAt: (next.find((row) => !due.includes(row))?.next_at as number | undefined) ?? null,
      }
    }),
    failing: snapshot(function* (id, limit) {
      const setAside = yield* all(SET_ASIDE, id, limit)
      const failed: Row[] = []
      for (const answered of [false, true]) failed.push(...(yield* all(FAILED, id, limit, answered)))
      failed.sort((one, other) => Number(one.next_at) - Number(other.next_at))
      return [...setAside, ...failed.slice(0, limit)].map((row) => ({
        ...waitingFromRow(row),
        receiptId: receiptFromRow(row),
        ...orderFromRow(row),
      }))
    }),
    oldestWaiting: snapshot(function* (id, scan) {
      return ((yield* get(OLDEST, id, scan))?.received_at as number | undefined) ?? null
    }),
  }
}
