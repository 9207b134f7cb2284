import type { SecretStore } from '../store.ts'
import type { Database } from './database.ts'
import { type Operations, type StoreThread, sendOperations } from './thread/operations.ts'

const INSERT = 'INSERT INTO service_secret (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING'

const LIST = 'SELECT name, value FROM service_secret WHERE substr(name, 1, length($1)) = $1 ORDER BY name'
const RENAME = 'UPDATE service_secret SET name = $1 WHERE name = $2'

const find = (database: Database, name: string): Uint8Array | undefined =>
  database.get('SELECT value FROM service_secret WHERE name = $1', name)?.value as Uint8Array | undefined

/** Run by the writer thread. */
export const secretWrites = {
  findOrInsert: (database, name, candidate) =>
    database.transaction(() => {
      database.run(INSERT, name, candidate)
      return find(database, name) as Uint8Array
    }),
  rename: (database, name, newName) => database.transaction(() => void database.run(RENAME, newName, name)),
} satisfies Operations<SecretStore>

export function sqliteSecrets(database: Database, writer: StoreThread): SecretStore {
  const { findOrInsert, rename } = sendOperations(secretWrites, writer, 'secrets')
  return {
    findOrInsert: async (name, candidate) => find(database, name) ?? findOrInsert(name, candidate),
    list: async (prefix) =>
      database.all(LIST, prefix).map(({ name, value }) => ({ name: name as string, value: value as Uint8Array })),
    rename,
  }
}
