import { resolve } from 'node:path'
import { AppError } from '#src/lib/app-error.ts'
import { inspectSqliteStore, openSqliteStore } from './sqlite/sqlite-store.ts'
import { storeErrors } from './store.errors.ts'
import type { Store } from './store.ts'

export interface StoreOptions {
  readonly databaseUrl: string
  /** Deliveries, and bytes of them, that may wait to be stored. */
  readonly queueDeliveries: number
  readonly queueBytes: number
  /** These are for PostgreSQL only. */
  readonly databasePool: number
  readonly databaseTimeoutSeconds: number
}

export interface QueueLimits {
  readonly maxDeliveries: number
  readonly maxBytes: number
}

export interface OpenedStore {
  readonly store: Store
  /** Names of the migrations that opening it applied. */
  readonly migrated: readonly string[]
}

export interface InspectedStore {
  readonly store: Store
  /** Names of the migrations that opening it would apply. With any, the store may not answer all that it is asked. */
  readonly pending: readonly string[]
  /** What is wrong with the file, if something is. Reads all of it. */
  findDamage(): Promise<string | undefined>
}

/** Opens the store that `DATABASE_URL` names, made anew if need be, with every migration applied. */
export async function openStore(options: StoreOptions, now: number): Promise<OpenedStore> {
  const limits = limitsOf(options)
  if (isPostgres(options)) {
    const { openPostgresStore } = await import('./postgres/postgres-store.ts')
    return openPostgresStore({ ...databaseOf(options), now, limits })
  }
  return openSqliteStore({ path: sqlitePath(options.databaseUrl), now, limits })
}

/** Opens the store as it is: makes nothing, applies nothing. */
export async function inspectStore(options: StoreOptions): Promise<InspectedStore> {
  const limits = limitsOf(options)
  if (isPostgres(options)) {
    const { inspectPostgresStore } = await import('./postgres/postgres-store.ts')
    return inspectPostgresStore({ ...databaseOf(options), limits })
  }
  return inspectSqliteStore({ path: sqlitePath(options.databaseUrl), limits })
}

const isPostgres = ({ databaseUrl }: StoreOptions): boolean => /^postgres/.test(databaseUrl)

const limitsOf = ({ queueDeliveries, queueBytes }: StoreOptions): QueueLimits => ({
  maxDeliveries: queueDeliveries,
  maxBytes: queueBytes,
})

const databaseOf = ({ databaseUrl, databasePool, databaseTimeoutSeconds }: StoreOptions) => ({
  url: databaseUrl,
  connections: databasePool,
  timeoutSeconds: databaseTimeoutSeconds,
})

/** `sqlite:./a.db`, `sqlite:/srv/a.db` and `sqlite:///srv/a.db`; not what SQLite itself would read as something else. */
export function sqlitePath(url: string): string {
  const path = url.replace(/^sqlite:(\/\/(?=\/))?/, '')
  if (/^(:|file:|\/\/)|[?\0]/.test(path)) {
    throw new AppError(storeErrors.cannotOpen, {
      message: `DATABASE_URL ${url} does not name a file: write sqlite:./data/teslim.db or sqlite:///srv/teslim.db.`,
    })
  }
  // Absolute, because SQLite reads a relative path that begins with file: as an address.
  return resolve(path)
}
