import type { SecretStore } from '../store.ts'
import type { Database } from './database.ts'
import { type Operations, type StoreThread, sendOperations } from './thread/operations.ts'

const INSERT = 'INSERT INTO service_secret (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING'

const find = (database: Database, name: string): Uint8Array | undefined =>
  database.get('SELECT value FROM service_secret WHERE name = $1', name)?.value as Uint8Array | undefined

/** Run by the writer thread. */
export const secretWrites = {
  findOrInsert: (database, name, candidate) =>
    database.transaction(() => {
      database.run(INSERT, name, candidate)
      return find(database, name) as Uint8Array
    }),
} satisfies Operations<SecretStore>

export function sqliteSecrets(database: Database, writer: StoreThread): SecretStore {
  const { findOrInsert } = sendOperations(secretWrites, writer, 'secrets')
  return { findOrInsert: async (name, candidate) => find(database, name) ?? findOrInsert(name, candidate) }
}
