import type { SigningKey, SigningKeyStore } from '../store.ts'
import type { Database, Row } from './database.ts'

const COLUMNS = 'kid, algorithm, private_jwk, created_at'
const NEWEST = `SELECT ${COLUMNS} FROM signing_key WHERE algorithm = $1 ORDER BY created_at DESC, kid LIMIT 1`
const LIST = `SELECT ${COLUMNS} FROM signing_key ORDER BY created_at DESC, kid`

const INSERT_FIRST = `
  INSERT INTO signing_key (kid, algorithm, private_jwk, created_at)
  SELECT $1, $2, $3, $4 WHERE NOT EXISTS (SELECT 1 FROM signing_key WHERE algorithm = $2)`

export function postgresSigningKeys({ query, transaction }: Database): SigningKeyStore {
  return {
    insertFirst: ({ kid, algorithm, privateJwk, createdAt }) =>
      transaction(async (query) => {
        // Two replicas that start at once would each find none.
        await query('LOCK TABLE signing_key IN SHARE ROW EXCLUSIVE MODE')
        await query(INSERT_FIRST, kid, algorithm, privateJwk, createdAt)
        const { rows } = await query(NEWEST, algorithm)
        return fromRow(rows[0] as Row)
      }),
    list: async () => (await query(LIST)).rows.map(fromRow),
  }
}

const fromRow = (row: Row): SigningKey => ({
  kid: row.kid as string,
  algorithm: row.algorithm as string,
  privateJwk: row.private_jwk as string,
  createdAt: row.created_at as number,
})
