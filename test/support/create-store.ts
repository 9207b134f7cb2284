import { join } from 'node:path'
import { loadConfig } from '#src/config/load-config.ts'
import { openStore } from '#src/store/open-store.ts'
import type { Customer } from '#src/store/store.ts'

/** Creates an empty store where `teslim` looks for it when it runs in this folder. */
export const createStore = (cwd: string): Promise<void> => createStoreWith(`sqlite:${join(cwd, 'data/teslim.db')}`, [])

/** Removes the refused bodies that came first while there are more than so many bytes, as a server does for which that is the limit. */
export async function removeRefused(databaseUrl: string, mostBytes: number): Promise<void> {
  const { store } = await openStore(loadConfig({ DATABASE_URL: databaseUrl }).config, 0, { withoutThreads: true })
  while ((await store.refused.keep([], { mostBytes, notKept: 0 })) > 0);
  await store.close()
}

/** Creates a store with these customers. */
export async function createStoreWith(databaseUrl: string, customers: readonly Customer[]): Promise<void> {
  const { store } = await openStore(loadConfig({ DATABASE_URL: databaseUrl }).config, 0, { withoutThreads: true })
  for (const customer of customers) await store.customers.insert(customer)
  await store.close()
}
