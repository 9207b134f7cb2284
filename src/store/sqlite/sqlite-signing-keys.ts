import type { SigningKey, SigningKeyStore } from '../store.ts'
import type { Database, Row } from './database.ts'
import type { Writer } from './writer.ts'

const COLUMNS = 'kid, algorithm, private_jwk, created_at'
const NEWEST = `SELECT ${COLUMNS} FROM signing_key WHERE algorithm = $1 ORDER BY created_at DESC, kid LIMIT 1`
const LIST = `SELECT ${COLUMNS} FROM signing_key ORDER BY created_at DESC, kid`

export function sqliteSigningKeys(database: Database, writer: Writer): SigningKeyStore {
  return {
    insertFirst: async (candidate) => {
      await writer.run('insertFirstSigningKey', [candidate])
      return fromRow(database.get(NEWEST, candidate.algorithm) as Row)
    },
    list: async () => database.all(LIST).map(fromRow),
  }
}

const fromRow = (row: Row): SigningKey => ({
  kid: row.kid as string,
  algorithm: row.algorithm as string,
  privateJwk: row.private_jwk as string,
  createdAt: row.created_at as number,
})
