import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { inject } from 'vitest'
import { newPostgresStore, session } from '../postgres/postgres-session.ts'
import { tempFolder } from '../temp-folder.ts'

export { runSql } from '../postgres/postgres-server.ts'
export { deliverBy, session, untilWaiting } from '../postgres/postgres-session.ts'

export type StoreKind = 'sqlite' | 'postgres'
export type EmptyStore = () => Promise<{ readonly DATABASE_URL: string }>

declare module 'vitest' {
  interface ProvidedContext {
    /** The stores of a project. `npm run test:fast` has SQLite only. */
    readonly stores: readonly StoreKind[]
  }
}

const emptyStores: Record<StoreKind, EmptyStore> = {
  sqlite: async () => ({ DATABASE_URL: `sqlite:${join(tempFolder(), 'teslim.db')}` }),
  postgres: async () => ({ DATABASE_URL: await newPostgresStore() }),
}

/**
 * The stores that a test runs on, each with a function that returns the settings of a new one:
 * `describe.each(storesOfRun())('... on %s', async (kind, emptyStore) => ...)`. What needs PostgreSQL asks for `storesOfRun('postgres')`.
 */
export const storesOfRun = (...wanted: readonly StoreKind[]): (readonly [StoreKind, EmptyStore])[] =>
  inject('stores')
    .filter((kind) => wanted.length === 0 || wanted.includes(kind))
    .map((kind) => [kind, emptyStores[kind]])

/** Takes a lock that every delivery with an order id needs. Resolves to what releases it. */
export async function lockStore(databaseUrl: string): Promise<() => Promise<unknown>> {
  if (databaseUrl.startsWith('postgres')) {
    const client = await session(databaseUrl)
    await client.query('BEGIN; LOCK TABLE order_state IN EXCLUSIVE MODE')
    return () => client.query('COMMIT')
  }
  const database = new DatabaseSync(databaseUrl.replace('sqlite:', ''), { timeout: 5000 })
  database.exec('BEGIN IMMEDIATE')
  return async () => database.close()
}
