import type { SigningKey, SigningKeyStore } from '../store.ts'
import type { Database, Row } from './database.ts'

const INSERT_FIRST = `
  INSERT INTO signing_key (kid, algorithm, private_jwk, created_at)
  SELECT $1, $2, $3, $4 WHERE NOT EXISTS (SELECT 1 FROM signing_key WHERE algorithm = $2)`

const NEWEST = `
  SELECT kid, algorithm, private_jwk, created_at FROM signing_key
   WHERE algorithm = $1 ORDER BY created_at DESC, kid LIMIT 1`

const LIST = `
  SELECT kid, algorithm, private_jwk, created_at FROM signing_key ORDER BY created_at DESC, kid`

export function sqliteSigningKeys(database: Database): SigningKeyStore {
  return {
    insertFirst: async ({ kid, algorithm, privateJwk, createdAt }) =>
      database.transaction(() => {
        database.run(INSERT_FIRST, kid, algorithm, privateJwk, createdAt)
        return fromRow(database.get(NEWEST, algorithm) as Row)
      }),
    list: async () => database.all(LIST).map(fromRow),
  }
}

const fromRow = (row: Row): SigningKey => ({
  kid: row.kid as string,
  algorithm: row.algorithm as string,
  privateJwk: row.private_jwk as string,
  createdAt: row.created_at as number,
})
