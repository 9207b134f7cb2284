import { openSqliteStore } from './sqlite/sqlite-store.ts'
import type { Store } from './store.ts'

export interface StoreOptions {
  readonly databaseUrl: string
  /** Deliveries, and bytes of them, that may wait to be stored. */
  readonly queueDeliveries: number
  readonly queueBytes: number
}

export interface OpenedStore {
  readonly store: Store
  /** Names of the migrations that opening it applied. */
  readonly migrated: readonly string[]
}

/** Opens the store that `DATABASE_URL` names, made anew if need be, with every migration applied. */
export async function openStore(options: StoreOptions, now: number): Promise<OpenedStore> {
  const limits = { maxDeliveries: options.queueDeliveries, maxBytes: options.queueBytes }
  return openSqliteStore({ path: sqlitePath(options.databaseUrl), now, limits })
}

/** `sqlite:./a.db`, `sqlite:/srv/a.db` and `sqlite:///srv/a.db` alike. */
const sqlitePath = (url: string): string => url.replace(/^sqlite:(\/\/(?=\/))?/, '')
