import type { SecretStore } from '../store.ts'
import type { Database } from './database.ts'
import type { Writer } from './thread/writer.ts'

const FIND = 'SELECT value FROM service_secret WHERE name = $1'

export const sqliteSecrets = (database: Database, writer: Writer): SecretStore => ({
  async findOrInsert(name, candidate) {
    const find = () => database.get(FIND, name)?.value as Uint8Array | undefined
    const there = find()
    if (there !== undefined) return there
    await writer.run('insertSecret', [name, candidate])
    return find() as Uint8Array
  },
})
