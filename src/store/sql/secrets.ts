import type { SecretStore } from '../store.ts'
import type { Dialect } from './dialect.ts'
import { allAs, change, find, get, lookUp, type Noun, run, write } from './work.ts'

const FIND = 'SELECT value FROM service_secret WHERE name = $1'
const INSERT = 'INSERT INTO service_secret (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING'
const RENAME = 'UPDATE service_secret SET name = $1 WHERE name = $2'

interface Secrets extends SecretStore {
  find(name: string): Promise<Uint8Array | undefined>
}

/** A secret that is there is found without a transaction. */
export const secretStore = ({ find, findOrInsert, ...rest }: Secrets): SecretStore => ({
  ...rest,
  findOrInsert: async (name, candidate) => (await find(name)) ?? findOrInsert(name, candidate),
})

export const secrets = ({ startsWith }: Dialect): Noun<Secrets> => {
  const LIST = `SELECT name, value FROM service_secret WHERE ${startsWith('name', '$1')} ORDER BY name`
  return {
    find: lookUp(function* (name) {
      return (yield* get(FIND, name))?.value as Uint8Array | undefined
    }),
    findOrInsert: write(function* (name, candidate) {
      yield* run(INSERT, name, candidate)
      return (yield* get(FIND, name))?.value as Uint8Array
    }),
    list: find((prefix) =>
      allAs(({ name, value }) => ({ name: name as string, value: value as Uint8Array }), LIST, prefix),
    ),
    rename: change(function* (name, newName) {
      yield* run(RENAME, newName, name)
    }),
  }
}
