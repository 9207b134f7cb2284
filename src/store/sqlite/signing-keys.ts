import { signingKeyFromRow } from '../shared/rows.ts'
import type { SigningKey, SigningKeyStore } from '../store.ts'
import { countVersion } from './customers.ts'
import { type Database, withSecureDelete } from './database.ts'
import { emptyLog } from './empty-log.ts'
import { type Operations, type StoreThread, sendOperations } from './thread/operations.ts'

const COLUMNS = 'kid, algorithm, private_jwk, created_at, expires_at'

const LIST = `SELECT ${COLUMNS} FROM signing_key ORDER BY created_at DESC, kid`

/** The newest key that may sign. */
const NEWEST = `
  SELECT ${COLUMNS} FROM signing_key
   WHERE algorithm = $1 AND expires_at IS NULL
   ORDER BY created_at DESC, kid LIMIT 1`

const INSERT = `INSERT INTO signing_key (${COLUMNS}) VALUES ($1, $2, $3, $4, $5)`

const EXPIRE_OTHERS = `
  UPDATE signing_key SET expires_at = $1 WHERE kid <> $2 AND (expires_at IS NULL OR expires_at > $3)`

const IS_STILL = 'SELECT 1 FROM signing_key WHERE kid = $1 AND private_jwk = $2'

const insert = (database: Database, { kid, algorithm, privateJwk, createdAt, expiresAt }: SigningKey): void => {
  database.run(INSERT, kid, algorithm, privateJwk, createdAt, expiresAt)
  countVersion(database)
}

/** Run by the writer thread. */
export const signingKeyWrites = {
  insertFirst: (database, candidate) =>
    database.transaction(() => {
      const newest = database.get(NEWEST, candidate.algorithm)
      if (newest !== undefined) return signingKeyFromRow(newest)
      insert(database, candidate)
      return candidate
    }),

  rotate: (database, candidate, replaced, othersExpireAt) =>
    database.transaction(() => {
      if (database.get(NEWEST, candidate.algorithm)?.kid !== replaced) return false
      insert(database, candidate)
      database.run(EXPIRE_OTHERS, othersExpireAt, candidate.kid, othersExpireAt)
      return true
    }),

  removeExpired: (database, now) =>
    withSecureDelete(database, () => {
      const removed = database.run('DELETE FROM signing_key WHERE expires_at <= $1', now)
      if (removed > 0) countVersion(database)
      return removed
    }),

  rewrap: (database, changes) => {
    const done = withSecureDelete(database, () => {
      if (changes.some(({ kid, from }) => database.get(IS_STILL, kid, from) === undefined)) return false
      for (const { kid, to } of changes) {
        database.run('UPDATE signing_key SET private_jwk = $1 WHERE kid = $2', to, kid)
      }
      countVersion(database)
      return true
    })
    // The log would hold the old text until it is overwritten. While another process reads the log, it stays.
    if (done) emptyLog(database)
    return done
  },
} satisfies Operations<SigningKeyStore>

export const sqliteSigningKeys = (database: Database, writer: StoreThread): SigningKeyStore => ({
  ...sendOperations(signingKeyWrites, writer, 'signingKeys'),
  list: async () => database.all(LIST).map(signingKeyFromRow),
})
