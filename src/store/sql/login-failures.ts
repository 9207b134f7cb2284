import type { LoginFailureStore } from '../customer-store.ts'
import type { Dialect } from './dialect.ts'
import { change, find, type Noun, run } from './work.ts'

/** ORDER BY, in all statements, so that two replicas that change the same names cannot deadlock. */
const COUNT = (v: string): string => `
  INSERT INTO login_failure AS kept (name, count, last_at, expires_at)
  SELECT v.name, 1, v.at, v.expires_at FROM ${v} WHERE true ORDER BY v.name
  ON CONFLICT (name) DO UPDATE
     SET count = CASE WHEN kept.expires_at > excluded.last_at THEN kept.count + 1 ELSE 1 END,
         last_at = excluded.last_at, expires_at = excluded.expires_at
  RETURNING name, count`

const REMEMBER = (v: string): string => `
  INSERT INTO login_failure (name, count, last_at, expires_at)
  SELECT v.name, 0, v.at, v.expires_at FROM ${v} WHERE true ORDER BY v.name
  ON CONFLICT (name) DO UPDATE SET last_at = excluded.last_at, expires_at = excluded.expires_at`

const EXPIRED = 'SELECT name FROM login_failure WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2'

const COUNTED = 'name bytea, counted_at bigint, counted_as bigint, last_at bigint'
const EXPIRING = 'name bytea, at bigint, expires_at bigint'

type Settlement = Parameters<LoginFailureStore['settle']>[0]

export const loginFailures = ({ oneOf, batch, larger, pick, skipLocked }: Dialect): Noun<LoginFailureStore> => {
  const findAll = batch(
    'name bytea, at bigint',
    (v) =>
      `SELECT f.name, f.count, f.last_at FROM ${v} JOIN login_failure f ON f.name = v.name WHERE f.expires_at > v.at`,
  )
  const countAll = batch(EXPIRING, COUNT)
  /** Skips rows that another replica has locked, instead of waiting. */
  const PURGE = `
    DELETE FROM login_failure
     WHERE name ${oneOf(`${EXPIRED} ${skipLocked}`)}`
  const COUNT_DOWN = (v: string): string => `
    UPDATE login_failure AS f
       SET count = ${larger('f.count - 1', '0')},
           last_at = CASE WHEN f.last_at = v.counted_at AND f.count = v.counted_as THEN v.last_at ELSE f.last_at END
      FROM ${v} WHERE f.name = v.name`
  const forgetAll = batch('name bytea', (v) => `DELETE FROM login_failure WHERE name IN (SELECT name FROM ${v})`)
  const countAllDown = batch(COUNTED, COUNT_DOWN)
  const rememberAll = batch(EXPIRING, REMEMBER)
  const SETTLE = `
    WITH locked AS (
      SELECT name FROM login_failure WHERE name = ANY ($1::bytea[] || $2::bytea[]) ORDER BY name FOR UPDATE
    ), forgotten AS (
      DELETE FROM login_failure f USING locked WHERE f.name = locked.name AND f.name = ANY ($1)
    ), counted_down AS (${COUNT_DOWN(`
      locked JOIN unnest($2, $3::bigint[], $4::bigint[], $5::bigint[]) v (name, counted_at, counted_as, last_at) USING (name)`)}
    ) ${REMEMBER('(SELECT name, $6::bigint AS at, expires_at FROM unnest($7::bytea[], $8::bigint[]) r (name, expires_at)) v')}`

  return {
    find: find(function* (names, at) {
      const rows = yield* findAll(names.map((name) => [name, at]))
      const found = new Map(
        rows.map(({ name, count, last_at }) => [hex(name), { count: count as number, lastAt: last_at as number }]),
      )
      return names.map((name) => found.get(hex(name)))
    }),
    count: change(function* (failures, now) {
      const rows = yield* countAll(failures.map(({ name, expiresAt }) => [name, now, expiresAt]))
      yield* run(PURGE, now, 2 * failures.length)
      const counts = new Map(rows.map(({ name, count }) => [hex(name), count as number]))
      return failures.map(({ name }) => counts.get(hex(name)) ?? 0)
    }),
    settle: change(
      pick({
        *sqlite({ forget, countDown, remember }: Settlement, now: number) {
          yield* forgetAll(forget.map((name) => [name]))
          yield* countAllDown(countDown.map((each) => [each.name, each.countedAt, each.countedAs, each.lastAt]))
          yield* rememberAll(remember.map(({ name, expiresAt }) => [name, now, expiresAt]))
        },
        // One statement, because it is part of every login.
        *postgres({ forget, countDown, remember }, now) {
          const counts = [countDown.map(({ name }) => name), countDown.map(({ countedAt }) => countedAt)]
          const more = [countDown.map(({ countedAs }) => countedAs), countDown.map(({ lastAt }) => lastAt)]
          const kept = [remember.map(({ name }) => name), remember.map(({ expiresAt }) => expiresAt)]
          yield* run(SETTLE, forget, ...counts, ...more, now, ...kept)
        },
      }),
    ),
  }
}

const hex = (name: unknown): string => Buffer.from(name as Uint8Array).toString('hex')
