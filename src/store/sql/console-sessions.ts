import type { ConsoleSession, ConsoleSessionStore } from '../store.ts'
import { bumpAccountVersion } from './customers.ts'
import { type Dialect, NO_LIMIT } from './dialect.ts'
import {
  change,
  changed,
  fields,
  find,
  getAs,
  isThere,
  lookUp,
  type Noun,
  type Row,
  run,
  type Work,
  write,
} from './work.ts'

const FIND = `
  SELECT s.*, c.id AS customer_id FROM console_session s JOIN customer c ON c.number = s.customer
   WHERE s.digest = $1 AND s.idle_until > $2`

const INSERT = `
  INSERT INTO console_session (id, digest, customer, region, auth_at, idle_until, ends_at, address, agent)
  SELECT $1, $2, number, $5, $6, $7, $8, $9, $10 FROM customer WHERE id = $3 AND token_generation = $4`

const END = 'DELETE FROM console_session WHERE digest = $1'

/** The new one stays, also where the clock has gone back and others seem to be newer. */
const END_BEYOND = `
  DELETE FROM console_session
   WHERE id IN (SELECT s.id FROM console_session s JOIN customer c ON c.number = s.customer
                 WHERE c.id = $1 AND s.id <> $2 ORDER BY s.auth_at DESC, s.id DESC LIMIT ${NO_LIMIT} OFFSET $3)`

const EXPIRE = 'DELETE FROM console_session WHERE idle_until <= $1'

const findLive = (digest: Uint8Array, now: number): Work<ConsoleSession | undefined> =>
  getAs(sessionFromRow, FIND, digest, now)

export const consoleSessions = ({ smaller }: Dialect): Noun<ConsoleSessionStore> => {
  const RENEW = `
    UPDATE console_session SET idle_until = ${smaller('$2', 'ends_at')} WHERE digest = $1 AND idle_until > $3`

  return {
    // The version comes first, as in every change of an account: what ends the sessions of a customer waits for this one.
    begin: write(function* (session, { tokenGeneration, formers, most, now }) {
      const { id, digest, customerId, region, authAt, idleUntil, endsAt, address, agent } = session
      yield* bumpAccountVersion()
      yield* run(EXPIRE, now)
      const values = [customerId, tokenGeneration, region, authAt, idleUntil, endsAt, address, agent]
      if ((yield* run(INSERT, id, digest, ...values)) === 0) return false
      for (const former of formers) yield* run(END, former)
      yield* run(END_BEYOND, customerId, id, most - 1)
      return true
    }),
    expiry: lookUp((id) => getAs(expiryFromRow, 'SELECT idle_until FROM console_session WHERE id = $1', id)),
    find: find(findLive),
    renew: change(function* (digest, idleUntil, now) {
      yield* run(RENEW, digest, idleUntil, now)
      return yield* findLive(digest, now)
    }),
    end: write(function* (digest) {
      // Whoever sends what is no reference must not make all caches read the accounts again.
      if (!(yield* isThere('SELECT 1 FROM console_session WHERE digest = $1', digest))) return false
      yield* bumpAccountVersion()
      return yield* changed(END, digest)
    }),
    endAll: write(function* () {
      yield* bumpAccountVersion()
      yield* run('DELETE FROM console_session')
    }),
    deleteExpired: change(function* (now) {
      yield* run(EXPIRE, now)
    }),
  }
}

const expiryFromRow = (row: Row): number => row.idle_until as number

const sessionFromRow = fields<ConsoleSession>()('id digest customerId region authAt idleUntil endsAt address agent')
