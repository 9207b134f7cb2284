import { signingKeyFromRow } from '../shared/rows.ts'
import type { SigningKey, SigningKeyStore } from '../store.ts'
import { columnsOf, type Database, type Query } from './database.ts'

const COLUMNS = 'kid, algorithm, private_jwk, created_at, expires_at'

/** The newest key that may sign. */
const NEWEST = `
  SELECT ${COLUMNS} FROM signing_key WHERE algorithm = $1 AND expires_at IS NULL
   ORDER BY created_at DESC, kid LIMIT 1`

const LIST = `SELECT ${COLUMNS} FROM signing_key ORDER BY created_at DESC, kid`

const INSERT = `INSERT INTO signing_key (${COLUMNS}) VALUES ($1, $2, $3, $4, $5)`

const EXPIRE_OTHERS = `
  UPDATE signing_key SET expires_at = $1 WHERE kid <> $2 AND (expires_at IS NULL OR expires_at > $1)`

const REMOVE_EXPIRED = `
  WITH removed AS (DELETE FROM signing_key WHERE expires_at <= $1 RETURNING 1),
  version AS (UPDATE account_version SET number = number + 1 WHERE EXISTS (SELECT FROM removed))
  SELECT FROM removed`

const REWRAP = `
  UPDATE signing_key SET private_jwk = change.becomes
    FROM unnest($1::text[], $2::text[], $3::text[]) AS change (kid, was, becomes)
   WHERE signing_key.kid = change.kid
     AND NOT EXISTS (
       SELECT FROM unnest($1::text[], $2::text[]) AS expected (kid, was)
        WHERE NOT EXISTS (SELECT FROM signing_key k WHERE k.kid = expected.kid AND k.private_jwk = expected.was))`

export function postgresSigningKeys({ query, lookUp, transaction }: Database): SigningKeyStore {
  /** Locks the table, because two replicas that start at once would each find no key and insert one. */
  const locked = <Result>(work: (query: Query) => Promise<Result>): Promise<Result> =>
    transaction(async (query) => {
      await query('LOCK TABLE signing_key IN SHARE ROW EXCLUSIVE MODE')
      return work(query)
    })

  return {
    insertFirst: (candidate) =>
      locked(async (query) => {
        const newest = await newestOf(query, candidate.algorithm)
        if (newest !== undefined) return newest
        await insert(query, candidate)
        await countVersion(query)
        return candidate
      }),
    list: async () => (await lookUp(LIST)).rows.map(signingKeyFromRow),
    rotate: (candidate, replaced, othersExpireAt) =>
      locked(async (query) => {
        if ((await newestOf(query, candidate.algorithm))?.kid !== replaced) return false
        await insert(query, candidate)
        await query(EXPIRE_OTHERS, othersExpireAt, candidate.kid)
        await countVersion(query)
        return true
      }),
    removeExpired: async (now) => (await query(REMOVE_EXPIRED, now)).count,
    rewrap: (changes) =>
      locked(async (query) => {
        if ((await query(REWRAP, ...columnsOf(changes, 'kid', 'from', 'to'))).count !== changes.length) return false
        await countVersion(query)
        return true
      }),
  }
}

const newestOf = async (query: Query, algorithm: string): Promise<SigningKey | undefined> => {
  const { rows } = await query(NEWEST, algorithm)
  return rows[0] && signingKeyFromRow(rows[0])
}

const insert = (query: Query, { kid, algorithm, privateJwk, createdAt, expiresAt }: SigningKey) =>
  query(INSERT, kid, algorithm, privateJwk, createdAt, expiresAt)

const countVersion = (query: Query) => query('UPDATE account_version SET number = number + 1')
