import type { WebhookStore } from '../../store.ts'
import type { Dialect } from '../dialect.ts'
import { all, change, find, isThere, type Noun, queue, type Row, run, type Work } from '../work.ts'

const NOW = '(extract(epoch FROM clock_timestamp()) * 1000)::bigint'

/** A failover ends all leases: the progress in the store may be older than what its holder knows. */
const TIMELINE = '(SELECT timeline_1())'

export const HELD = `holder = $1 AND leased_until > ${NOW} AND timeline IS NOT DISTINCT FROM ${TIMELINE}`

const LEASED = `leased_at = ${NOW}, leased_until = ${NOW} + $2::bigint`

/** Locked in the order of their ids, as everywhere. */
const HOLDERS = (which: string): string =>
  `WITH locked AS MATERIALIZED (SELECT webhook FROM webhook_progress WHERE ${which} ORDER BY webhook FOR UPDATE)`

const RENEW = `
  ${HOLDERS(HELD)}
  UPDATE webhook_progress p SET ${LEASED} FROM locked WHERE p.webhook = locked.webhook RETURNING p.webhook AS id`

/**
 * A lease that begins further ahead than it is long was made before the clock was set back. SKIP LOCKED leaves endpoints alone that
 * are being claimed or saved.
 */
const CLAIM = `
  WITH free AS MATERIALIZED (
    SELECT p.webhook
      FROM webhook_progress p JOIN webhook w ON w.id = p.webhook
     WHERE w.paused_at IS NULL
       AND (p.leased_until IS NULL OR p.timeline IS DISTINCT FROM ${TIMELINE} OR p.leased_until <= ${NOW} OR p.leased_at > ${NOW} + (p.leased_until - p.leased_at))
     ORDER BY p.webhook
     LIMIT $3
       FOR UPDATE OF p SKIP LOCKED
  )
  UPDATE webhook_progress p SET holder = $1, ${LEASED}, timeline = ${TIMELINE}
    FROM free WHERE p.webhook = free.webhook
  RETURNING p.webhook AS id`

const STATES =
  'SELECT id, version, paused_at IS NOT NULL AS paused FROM webhook WHERE id = ANY ($1::text[]) ORDER BY id'

const RELEASE = `
  ${HOLDERS('holder = $1 AND ($2::text[] IS NULL OR webhook = ANY ($2))')}
  UPDATE webhook_progress p SET holder = NULL, leased_at = NULL, leased_until = NULL
    FROM locked WHERE p.webhook = locked.webhook`

const ACTIVE = 'SELECT id, version FROM webhook WHERE paused_at IS NULL ORDER BY id'

const idsOf = (rows: readonly Row[]): string[] => rows.map(({ id }) => id as string)

/** Whoever may use a file holds the lock of its server, so its endpoints need no leases. */
export const leases = ({ pick }: Dialect): Noun<Pick<WebhookStore, 'any' | 'hold' | 'release'>> => ({
  any: find(() => isThere('SELECT 1 FROM webhook LIMIT 1')),
  ...pick<Noun<Pick<WebhookStore, 'hold' | 'release'>>>({
    sqlite: {
      hold: find(function* () {
        const rows = yield* all(ACTIVE)
        return rows.map(({ id, version }) => ({
          id: id as string,
          version: version as number,
          paused: false,
          isNew: false,
        }))
      }),
      release: find(function* () {}),
    },
    postgres: {
      hold: queue(function* (holder, leaseMilliseconds, limit) {
        const renewed = idsOf(yield* all(RENEW, holder, leaseMilliseconds))
        const claimed = new Set(idsOf(yield* all(CLAIM, holder, leaseMilliseconds, limit)))
        const states = yield* all(STATES, [...renewed, ...claimed])
        return states.map(({ id, version, paused }) => ({
          id: id as string,
          version: version as number,
          paused: Boolean(paused),
          isNew: claimed.has(id as string),
        }))
      }),
      release: change(function* (holder, ids) {
        yield* run(RELEASE, holder, ids ?? null)
      }),
    },
  }),
})

const LOCK = (condition: string): string => `
  SELECT webhook AS id, position, journal_bytes FROM webhook_progress WHERE ${condition} ORDER BY webhook`

/** Locks the progress of endpoints: before anything else of them is changed, which keeps two replicas from a deadlock. */
export const lockProgress = ({ pick, among, forUpdate }: Dialect) => {
  const THESE = `${LOCK(`webhook ${among('$1')}`)} ${forUpdate}`
  const HELD_THESE = `${LOCK(`${HELD} AND webhook ${among('$2')}`)} ${forUpdate}`
  const these = (ids: readonly string[]): Work<readonly Row[]> => all(THESE, ids)
  return {
    these,
    /** Of those that the holder still holds. */
    held: pick<(holder: string, ids: readonly string[]) => Work<readonly Row[]>>({
      sqlite: (_, ids) => these(ids),
      postgres: (holder, ids) => all(HELD_THESE, holder, ids),
    }),
  }
}
