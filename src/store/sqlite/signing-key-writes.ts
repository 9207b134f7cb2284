import type { SigningKey, SigningKeyRewrap } from '../store.ts'
import type { Database } from './database.ts'

/** Of those that may sign. */
export const NEWEST = `
  SELECT kid, algorithm, private_jwk, created_at, expires_at FROM signing_key
   WHERE algorithm = $1 AND expires_at IS NULL
   ORDER BY created_at DESC, kid LIMIT 1`

const INSERT = `
  INSERT INTO signing_key (kid, algorithm, private_jwk, created_at, expires_at) VALUES ($1, $2, $3, $4, $5)`

const EXPIRE_OTHERS = `
  UPDATE signing_key SET expires_at = $1 WHERE kid <> $2 AND (expires_at IS NULL OR expires_at > $3)`

const IS_STILL = 'SELECT 1 FROM signing_key WHERE kid = $1 AND private_jwk = $2'

/** What changes signing keys, each in a transaction of its own. Runs in the writer worker. */
export function signingKeyWrites(database: Database) {
  const insert = ({ kid, algorithm, privateJwk, createdAt, expiresAt }: SigningKey): void =>
    void database.run(INSERT, kid, algorithm, privateJwk, createdAt, expiresAt)

  const countVersion = (): void => void database.run('UPDATE account_version SET number = number + 1')

  /** What a row held before is overwritten, not only let go of: no key stays behind in the file. */
  const forgetting = <Result>(work: () => Result): Result => {
    database.script('PRAGMA secure_delete = ON')
    try {
      return database.transaction(work)
    } finally {
      database.script('PRAGMA secure_delete = OFF')
    }
  }

  return {
    insertFirstSigningKey: (candidate: SigningKey): void =>
      database.transaction(() => {
        if (database.get(NEWEST, candidate.algorithm) !== undefined) return
        insert(candidate)
        countVersion()
      }),

    rotateSigningKey: (candidate: SigningKey, replaced: string, othersExpireAt: number): boolean =>
      database.transaction(() => {
        if (database.get(NEWEST, candidate.algorithm)?.kid !== replaced) return false
        insert(candidate)
        database.run(EXPIRE_OTHERS, othersExpireAt, candidate.kid, othersExpireAt)
        countVersion()
        return true
      }),

    removeExpiredSigningKeys: (now: number): number =>
      forgetting(() => {
        const removed = database.run('DELETE FROM signing_key WHERE expires_at <= $1', now)
        if (removed > 0) countVersion()
        return removed
      }),

    rewrapSigningKeys: (changes: readonly SigningKeyRewrap[]): boolean => {
      const done = forgetting(() => {
        if (changes.some(({ kid, from }) => database.get(IS_STILL, kid, from) === undefined)) return false
        for (const { kid, to } of changes) {
          database.run('UPDATE signing_key SET private_jwk = $1 WHERE kid = $2', to, kid)
        }
        countVersion()
        return true
      })
      // The log would hold the old text until it is written over. Where another process reads it just now, it stays.
      if (done) database.script('PRAGMA wal_checkpoint(TRUNCATE)')
      return done
    },
  }
}
