import type { SigningKey, SigningKeyStore } from '../store.ts'
import type { Database, Row } from './database.ts'
import { NEWEST } from './signing-key-writes.ts'
import type { Writer } from './thread/writer.ts'

const LIST = `
  SELECT kid, algorithm, private_jwk, created_at, expires_at FROM signing_key ORDER BY created_at DESC, kid`

export function sqliteSigningKeys(database: Database, writer: Writer): SigningKeyStore {
  return {
    insertFirst: async (candidate) => {
      await writer.run('insertFirstSigningKey', [candidate])
      return fromRow(database.get(NEWEST, candidate.algorithm) as Row)
    },
    list: async () => database.all(LIST).map(fromRow),
    rotate: (candidate, replaced, othersExpireAt) =>
      writer.run('rotateSigningKey', [candidate, replaced, othersExpireAt]),
    removeExpired: (now) => writer.run('removeExpiredSigningKeys', [now]),
    rewrap: (changes) => writer.run('rewrapSigningKeys', [changes]),
  }
}

const fromRow = (row: Row): SigningKey => ({
  kid: row.kid as string,
  algorithm: row.algorithm as string,
  privateJwk: row.private_jwk as string,
  createdAt: row.created_at as number,
  expiresAt: row.expires_at as number | null,
})
