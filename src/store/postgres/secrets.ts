import type { SecretStore } from '../store.ts'
import type { Database } from './database.ts'

const FIND = 'SELECT value FROM service_secret WHERE name = $1'
const INSERT = 'INSERT INTO service_secret (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING'
const LIST = 'SELECT name, value FROM service_secret WHERE starts_with(name, $1) ORDER BY name'
const RENAME = 'UPDATE service_secret SET name = $1 WHERE name = $2'

export const postgresSecrets = ({ query }: Database): SecretStore => ({
  async findOrInsert(name, candidate) {
    const find = async () => (await query(FIND, name)).rows[0]?.value as Uint8Array | undefined
    const there = await find()
    if (there !== undefined) return there
    await query(INSERT, name, candidate)
    return (await find()) as Uint8Array
  },
  async list(prefix) {
    const { rows } = await query(LIST, prefix)
    return rows.map(({ name, value }) => ({ name: name as string, value: value as Uint8Array }))
  },
  rename: async (name, newName) => void (await query(RENAME, newName, name)),
})
