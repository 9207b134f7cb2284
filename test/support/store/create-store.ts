import { join } from 'node:path'
import { loadConfig } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'
import type { Customer } from '#src/store/store.ts'

/** Creates an empty store where `teslim` looks for it when it runs in this folder. */
export const createStore = (cwd: string): Promise<void> => createStoreWith(`sqlite:${join(cwd, 'data/teslim.db')}`, [])

/** Creates a store with these customers. */
export async function createStoreWith(databaseUrl: string, customers: readonly Customer[]): Promise<void> {
  const { store } = await openStore(loadConfig({ DATABASE_URL: databaseUrl }).config, 0, { withoutThreads: true })
  for (const customer of customers) await store.customers.insert(customer)
  await store.close()
}
