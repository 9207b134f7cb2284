import { resolve } from 'node:path'
import { AppError } from '#src/lib/app-error.ts'
import { serverOn } from './sqlite/server-lock.ts'
import { inspectSqliteStore, openSqliteStore } from './sqlite/sqlite-store.ts'
import { storeErrors } from './store.errors.ts'
import type { Store } from './store.ts'

export interface StoreOptions {
  readonly databaseUrl: string
  /** Deliveries, and bytes of them, that may wait to be stored. */
  readonly queueDeliveries: number
  readonly queueBytes: number
  /** No request waits longer for the store. */
  readonly requestTimeoutSeconds: number
  /** These are for PostgreSQL only. */
  readonly databasePool: number
  readonly databaseTimeoutSeconds: number
}

export interface QueueLimits {
  readonly maxDeliveries: number
  readonly maxBytes: number
  /** How long a delivery may wait until its commit begins. */
  readonly longestWaitMilliseconds: number
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

/**
 * Opens the store that `DATABASE_URL` names, creating it if necessary, with every migration applied. `toServe` it is for one
 * process only, where it is a file: throws STORE_IN_USE when another one serves it.
 */
export async function openStore(options: StoreOptions, now: number, { toServe = false } = {}): Promise<OpenedStore> {
  const limits = limitsOf(options)
  if (isPostgres(options)) {
    const { openPostgresStore } = await import('./postgres/postgres-store.ts')
    return openPostgresStore({ ...databaseOf(options), now, limits, toServe })
  }
  return openSqliteStore({ path: sqlitePath(options.databaseUrl), now, limits, toServe })
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

/** Which server works on an embedded store; undefined for none, and for PostgreSQL, which many may use. */
export const findServer = (options: StoreOptions): string | undefined =>
  isPostgres(options) ? undefined : serverOn(sqlitePath(options.databaseUrl))

/** What remains of a request's time goes to the commit, which may stand behind others. */
const COMMIT_MILLISECONDS = 2000

const limitsOf = ({ queueDeliveries, queueBytes, requestTimeoutSeconds }: StoreOptions): QueueLimits => {
  const milliseconds = requestTimeoutSeconds * 1000
  return {
    maxDeliveries: queueDeliveries,
    maxBytes: queueBytes,
    longestWaitMilliseconds: Math.max(milliseconds / 2, milliseconds - COMMIT_MILLISECONDS),
  }
}

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
