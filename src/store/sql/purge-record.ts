import type { PurgeStore } from '../store.ts'
import { allAs, change, changed, find, type Noun, run, write } from './work.ts'

/** Times that lie too far ahead come from a clock that was wrong. */
const CLAIM = `
  UPDATE purge SET leased_until = $1
   WHERE (leased_until < $2 OR leased_until > $1 + ($1 - $2)) AND (done_before < $3 OR done_before > $2)`
const RENEW = 'UPDATE purge SET leased_until = $1 WHERE leased_until = $2'
const FINISH = 'UPDATE purge SET done_before = $1, leased_until = 0'
const FORGET_HELD = 'DELETE FROM purge_held'
const ADD_HELD = 'INSERT INTO purge_held (webhook, deliveries, last) VALUES ($1, $2, $3)'
/** An endpoint has taken all of it when its position is past, and nothing is left behind. */
const HELD = `
  SELECT h.webhook AS id, h.deliveries AS kept FROM purge_held h CROSS JOIN webhook_progress p
   WHERE p.webhook = h.webhook
     AND (p.position < h.last
          OR (SELECT position FROM webhook_waiting q WHERE q.webhook = h.webhook ORDER BY q.position LIMIT 1) <= h.last)
   ORDER BY h.webhook`

/** Who purges by itself, up to when that was done, and what it kept. */
export const purgeRecord: Noun<Pick<PurgeStore, 'claim' | 'renew' | 'finish' | 'held'>> = {
  claim: change(({ now, until, due }) => changed(CLAIM, until, now, due)),
  renew: change((from, until) => changed(RENEW, until, from)),
  finish: write(function* (before, webhooks) {
    yield* run(FINISH, before)
    yield* run(FORGET_HELD)
    for (const { id, kept, last } of webhooks) if (kept > 0) yield* run(ADD_HELD, id, kept, last)
  }),
  held: find(() => allAs(({ id, kept }) => ({ id: id as string, kept: kept as number }), HELD)),
}
