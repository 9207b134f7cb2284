import type { SigningKey, SigningKeyStore } from '../store.ts'
import { bumpAccountVersion } from './customers.ts'
import type { Dialect } from './dialect.ts'
import { allAs, fields, getAs, isThere, lookUp, type Noun, run, scrub, type Work, wipe, write } from './work.ts'

const COLUMNS = 'kid, algorithm, private_jwk, created_at, expires_at'

const LIST = `SELECT ${COLUMNS} FROM signing_key ORDER BY created_at DESC, kid`

/** The newest key that may sign. */
const NEWEST = `
  SELECT ${COLUMNS} FROM signing_key WHERE algorithm = $1 AND expires_at IS NULL ORDER BY created_at DESC, kid LIMIT 1`

const INSERT = `INSERT INTO signing_key (${COLUMNS}) VALUES ($1, $2, $3, $4, $5)`

const EXPIRE_OTHERS = `
  UPDATE signing_key SET expires_at = $1 WHERE kid <> $2 AND (expires_at IS NULL OR expires_at > $1)`

const REMOVE_EXPIRED = 'DELETE FROM signing_key WHERE expires_at <= $1'

const REWRAP = 'UPDATE signing_key SET private_jwk = $3 WHERE kid = $1 AND private_jwk = $2'
const IS_STILL = 'SELECT 1 FROM signing_key WHERE kid = $1 AND private_jwk = $2'

const newestOf = (algorithm: string): Work<SigningKey | undefined> => getAs(signingKeyFromRow, NEWEST, algorithm)

function* insert({ kid, algorithm, privateJwk, createdAt, expiresAt }: SigningKey): Work<void> {
  yield* run(INSERT, kid, algorithm, privateJwk, createdAt, expiresAt)
  yield* bumpAccountVersion()
}

export const signingKeys = ({ lock }: Dialect): Noun<SigningKeyStore> => ({
  insertFirst: write(function* (candidate) {
    // Two replicas that start at once would each find no key and insert one.
    yield* lock('signing_key')
    const newest = yield* newestOf(candidate.algorithm)
    if (newest !== undefined) return newest
    yield* insert(candidate)
    return candidate
  }),
  list: lookUp(() => allAs(signingKeyFromRow, LIST)),
  rotate: write(function* (candidate, replaced, othersExpireAt) {
    yield* lock('signing_key')
    if ((yield* newestOf(candidate.algorithm))?.kid !== replaced) return false
    yield* insert(candidate)
    yield* run(EXPIRE_OTHERS, othersExpireAt, candidate.kid)
    return true
  }),
  removeExpired: wipe(function* (now) {
    const removed = yield* run(REMOVE_EXPIRED, now)
    if (removed > 0) yield* bumpAccountVersion()
    return removed
  }),
  rewrap: scrub(function* (changes) {
    yield* lock('signing_key')
    for (const { kid, from } of changes) if (!(yield* isThere(IS_STILL, kid, from))) return false
    for (const { kid, from, to } of changes) yield* run(REWRAP, kid, from, to)
    yield* bumpAccountVersion()
    return true
  }),
})

const signingKeyFromRow = fields<SigningKey>()('kid algorithm privateJwk createdAt expiresAt')
