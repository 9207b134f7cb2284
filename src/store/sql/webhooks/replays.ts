import type { Laned, WebhookStore } from '../../store.ts'
import type { Dialect } from '../dialect.ts'
import { all, get, type Noun, progress, queue, run } from '../work.ts'
import { lockProgress } from './leases.ts'
import { numbersColumn } from './rows.ts'
import { waitingRows } from './waiting.ts'

/** Deliveries that are revived in one transaction, so that others do not wait long. */
export const REVIVED_AT_ONCE = 250

/** Many more than a replay may be ahead. */
const MAX_COUNTED = 10_000

/** Deliveries that are given up in one transaction. */
const GIVEN_UP_AT_ONCE = 1000

const COUNT_VERSION = 'UPDATE webhook SET version = version + 1 WHERE id = $1'

/** One that has begun stays. */
const BEGIN = `
  INSERT INTO webhook_replay (webhook, from_after, until, position, statuses, began_at, added)
  VALUES ($1, $2, $3, $2, $4, $5, 0)
  ON CONFLICT (webhook) DO NOTHING`
const END = 'DELETE FROM webhook_replay WHERE webhook = $1'

const CURRENT = 'SELECT until FROM webhook_replay WHERE webhook = $1 AND began_at = $2'
const ADVANCE = 'UPDATE webhook_replay SET position = $2, added = added + $3 WHERE webhook = $1'
export interface ReplaySteps extends Pick<WebhookStore, 'addReplayed' | 'giveUp'> {
  /** Does what `replay` does, but revives only some of what is set aside. */
  replaySome: WebhookStore['replay']
  /** Resolves to whether there is such an endpoint. */
  changeReplay(...args: Parameters<WebhookStore['setReplay']>): Promise<boolean>
}

export const replays = (dialect: Dialect): Noun<ReplaySteps> => {
  const lock = lockProgress(dialect)
  const { again, hasten, standing, giveUp } = waitingRows(dialect)
  const SET_ASIDE = `
    SELECT position, lane FROM webhook_waiting ${dialect.indexedBy('webhook_waiting_set_aside')}
     WHERE webhook = $1 AND set_aside_at IS NOT NULL ORDER BY position LIMIT ${REVIVED_AT_ONCE}`
  /** Whoever failed does not keep others back. */
  const REPLAYED = `
    SELECT count(*) AS count
      FROM (SELECT 1 FROM webhook_waiting ${dialect.indexedBy('webhook_waiting_replayed')}
             WHERE webhook = $1 AND replayed AND failures = 0 AND set_aside_at IS NULL LIMIT ${MAX_COUNTED}) looked`
  return {
    replaySome: queue(function* (id, what, now) {
      const [own] = yield* lock.these([id])
      if (own === undefined) return undefined
      yield* run(COUNT_VERSION, id)
      const deliveries = what === 'set-aside' ? yield* all(SET_ASIDE, id) : what
      const places = deliveries.map(({ position, lane }) => ({
        id,
        position: position as number,
        lane: lane as number,
      }))
      const isRead = ({ position }: Laned): boolean => position <= (own.position as number)
      const later = places.filter((each) => !isRead(each)).map(({ position }) => [id, position])
      const setAside = (yield* standing(later)).filter((row) => row.set_aside_at !== null)
      const kept = new Set(setAside.map(({ position }) => position))
      const chosen = places.filter((each) => isRead(each) || kept.has(each.position))
      const hastened = yield* hasten(chosen.map(({ position }) => [id, position, now]))
      return hastened.length + (yield* again(chosen, now))
    }),
    changeReplay: queue(function* (id, replay) {
      if ((yield* lock.these([id])).length === 0) return false
      yield* run(COUNT_VERSION, id)
      if (replay === null) yield* run(END, id)
      else yield* run(BEGIN, id, replay.from, replay.until, numbersColumn(replay.statuses), replay.beganAt)
      return true
    }),
    addReplayed: progress(function* (holder, id, beganAt, { deliveries, position }, now) {
      const [own] = yield* lock.held(holder, [id])
      const replay = own && (yield* get(CURRENT, id, beganAt))
      if (replay === undefined) return undefined
      const places = deliveries.map((each) => ({ ...each, id }))
      const added = yield* again(places, now)
      if (position >= (replay.until as number)) yield* run(END, id)
      else yield* run(ADVANCE, id, position, added)
      return Number((yield* get(REPLAYED, id))?.count)
    }),
    giveUp: progress(function* (holder, id, before, now) {
      if ((yield* lock.held(holder, [id])).length === 0) return 0
      return yield* giveUp(id, before, GIVEN_UP_AT_ONCE, now)
    }),
  }
}
