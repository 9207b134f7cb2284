import { openSqliteStore } from './sqlite/sqlite-store.ts'
import type { Store } from './store.ts'

export interface OpenedStore {
  readonly store: Store
  /** Names of the migrations that opening it applied. */
  readonly migrated: readonly string[]
}

/** Opens the store that `DATABASE_URL` names, made anew if need be, with every migration applied. */
export async function openStore(databaseUrl: string, now: number): Promise<OpenedStore> {
  return openSqliteStore(sqlitePath(databaseUrl), now)
}

/** `sqlite:./a.db`, `sqlite:/srv/a.db` and `sqlite:///srv/a.db` alike. */
const sqlitePath = (url: string): string => url.replace(/^sqlite:(\/\/(?=\/))?/, '')
