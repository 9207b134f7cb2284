import type { LoginFailureStore } from '../store.ts'
import { columnsOf, type Database } from './database.ts'

const FIND = `SELECT name, count, last_at FROM login_failure WHERE name = ANY ($1::bytea[]) AND expires_at > $2`

/** ORDER BY name, here and below, so that two replicas that change the same names cannot deadlock. */
const COUNT = `
  INSERT INTO login_failure AS kept (name, count, last_at, expires_at)
  SELECT name, 1, $3, expires_at FROM unnest($1::bytea[], $2::bigint[]) AS failure (name, expires_at) ORDER BY name
  ON CONFLICT (name) DO UPDATE
     SET count = CASE WHEN kept.expires_at > excluded.last_at THEN kept.count + 1 ELSE 1 END,
         last_at = excluded.last_at, expires_at = excluded.expires_at
  RETURNING name, count`

/** Skips rows that another replica has locked, instead of waiting. */
const PURGE = `
  DELETE FROM login_failure WHERE name = ANY (ARRAY(
    SELECT name FROM login_failure WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED
  ))`

const SETTLE = `
  WITH locked AS (
    SELECT name FROM login_failure WHERE name = ANY ($1::bytea[] || $2::bytea[]) ORDER BY name FOR UPDATE
  ), forgotten AS (
    DELETE FROM login_failure f USING locked WHERE f.name = locked.name AND f.name = ANY ($1::bytea[])
  ), counted_down AS (
    UPDATE login_failure f
       SET count = greatest(f.count - 1, 0),
           last_at = CASE WHEN f.last_at = c.counted_at AND f.count = c.counted_as THEN c.last_at ELSE f.last_at END
      FROM locked JOIN unnest($2::bytea[], $3::bigint[], $4::bigint[], $5::bigint[]) AS c (name, counted_at, counted_as, last_at) USING (name)
     WHERE f.name = locked.name
  )
  INSERT INTO login_failure (name, count, last_at, expires_at)
  SELECT name, 0, $8::bigint, expires_at FROM unnest($6::bytea[], $7::bigint[]) AS r (name, expires_at) ORDER BY name
  ON CONFLICT (name) DO UPDATE SET last_at = excluded.last_at, expires_at = excluded.expires_at`

export function postgresLoginFailures({ query }: Database): LoginFailureStore {
  return {
    async find(names, now) {
      const { rows } = await query(FIND, names.map(bytes), now)
      const found = new Map(
        rows.map(({ name, count, last_at }) => [hex(name), { count: count as number, lastAt: last_at as number }]),
      )
      return names.map((name) => found.get(hex(name)))
    },
    async count(failures, now) {
      const names = namesOf(failures)
      const [{ rows }] = await Promise.all([
        query(COUNT, names, ...columnsOf(failures, 'expiresAt'), now),
        query(PURGE, now, 2 * failures.length),
      ])
      const counts = new Map(rows.map(({ name, count }) => [hex(name), count as number]))
      return names.map((name) => counts.get(hex(name)) ?? 0)
    },
    async settle({ forget, countDown, remember }, now) {
      await query(
        SETTLE,
        forget.map(bytes),
        namesOf(countDown),
        ...columnsOf(countDown, 'countedAt', 'countedAs', 'lastAt'),
        namesOf(remember),
        ...columnsOf(remember, 'expiresAt'),
        now,
      )
    },
  }
}

/** Inside an array the driver would send a plain Uint8Array as an array of numbers. */
const bytes = (name: Uint8Array): Buffer => Buffer.from(name)

const namesOf = (items: readonly { readonly name: Uint8Array }[]): Buffer[] => items.map(({ name }) => bytes(name))

const hex = (name: unknown): string => Buffer.from(name as Uint8Array).toString('hex')
