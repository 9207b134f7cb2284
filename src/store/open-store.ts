import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { AppError, reasonOf } from '#src/lib/app-error.ts'
import { memoryShare } from '#src/lib/memory-share.ts'
import { leftPartials } from './backup/backup-files.ts'
import { opening } from './sqlite/database.ts'
import { FULL_REASON } from './sqlite/failures.ts'
import { lockForServer, type ServerLock, serverOn } from './sqlite/locks/server-lock.ts'
import { type Moved, movedError, movedFrom } from './sqlite/moved.ts'
import { inspectSqliteStore, openSqliteStore } from './sqlite/sqlite-store.ts'
import { insteadOfStore, writtenState } from './sqlite/store-file.ts'
import { storeErrors } from './store.errors.ts'
import type { InspectedStore, OpenedStore, QueueLimits } from './store.ts'

export { movedText } from './sqlite/moved.ts'
export type { InspectedStore, OpenedStore, StoreFacts } from './store.ts'

export interface StoreOptions {
  readonly databaseUrl: string
  /** Limits how long a request waits for the store. */
  readonly requestTimeoutSeconds: number
  /** The next three are for PostgreSQL only. */
  readonly databasePool: number
  readonly databaseTimeoutSeconds: number
  readonly databaseStandby?: 'off' | 'required'
  /** Deliveries that may wait to be stored; fewer in tests. */
  readonly queueDeliveries?: number
}

/**
 * Opens the store that `DATABASE_URL` names, with every migration applied. Creates it if there is none, or throws STORE_MISSING
 * unless it may `create`. `toServe` is for one process only, where the store is a file: throws STORE_IN_USE when another serves it.
 */
export async function openStore(
  options: StoreOptions,
  now: number,
  { toServe = false, create = true, withoutThreads = false } = {},
): Promise<OpenedStore> {
  if (!create && !isThere(options)) throw missing(options)
  const limits = limitsOf(options)
  const path = fileOf(options)
  try {
    if (path !== undefined) return await openSqliteStore({ path, now, limits, create, toServe, withoutThreads })
    const { openPostgresStore } = await import('./postgres/postgres-store.ts')
    return await openPostgresStore({ ...databaseOf(options), now, limits, create, toServe })
  } catch (error) {
    throw isMissing(error) ? missing(options) : error
  }
}

export const isMissing = (error: unknown): boolean =>
  error instanceof AppError && error.code === storeErrors.missing.code

/** Opens the store as it is, for commands that only read: creates nothing, applies no migration. Throws STORE_MISSING. */
export async function openToRead(options: StoreOptions): Promise<InspectedStore> {
  if (!isThere(options)) throw missing(options)
  const inspected = await inspectStore(options)
  if (!inspected.empty) return inspected
  await inspected.store.close()
  throw missing(options)
}

/** Whether there is a file to open. An empty one is no store: `touch` made it, or a start that was killed. */
function isThere(options: StoreOptions): boolean {
  const path = fileOf(options)
  return path === undefined || opening(path, () => sizeOf(path)) > 0
}

/** Says what to do about a store that is not there. For operators: it names the path. */
export function missing(options: StoreOptions): AppError {
  const path = fileOf(options)
  const what =
    path === undefined
      ? 'There is no store in the database that DATABASE_URL names: check its name, or restore a dump.'
      : `There is no store at ${path}${insteadOfStore(path)}: check DATABASE_URL, the folder you are in, and whether its disk is mounted, or run "teslim restore".`
  return new AppError(storeErrors.missing, {
    message: `${what} Only for a new installation, "teslim customer add" or "teslim migrate" creates one.`,
  })
}

/** More than an empty file that was made a database: a first start that found no room leaves that. */
const MIN_BYTES_OF_STORE = 8192

/** Whether a store is there and could not be opened because its disk is full: it can be once there is room. */
export function lacksRoom(options: StoreOptions, error: unknown): boolean {
  const path = fileOf(options)
  if (path === undefined || !(error instanceof AppError)) return false
  return [FULL_REASON, 'ENOSPC'].some((text) => reasonOf(error).includes(text)) && sizeOf(path) >= MIN_BYTES_OF_STORE
}

const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0

/** Opens the store unchanged, for `doctor`: creates nothing, applies no migration. */
export async function inspectStore(options: StoreOptions): Promise<InspectedStore> {
  const limits = limitsOf(options)
  const path = fileOf(options)
  if (path !== undefined) return inspectSqliteStore({ path, limits })
  const { inspectPostgresStore } = await import('./postgres/postgres-store.ts')
  return inspectPostgresStore({ ...databaseOf(options), limits })
}

/** Says which connection to a database could be read on its way; undefined if none could. */
export async function unverifiedDatabase({ databaseUrl }: Named): Promise<string | undefined> {
  if (fileOf({ databaseUrl }) !== undefined) return undefined
  const { unverifiedServers } = await import('./postgres/connection/server-list.ts')
  const hosts = unverifiedServers(databaseUrl)
  if (hosts.length === 0) return undefined
  return `the connection to ${hosts.join(', ')} is not verified, so that others on the way could read the password and all deliveries: set sslmode=verify-full in DATABASE_URL, with sslrootcert=FILE for an authority of your own`
}

type Named = Pick<StoreOptions, 'databaseUrl'>

/** Returns the path of a SQLite store; undefined for PostgreSQL. */
const fileOf = ({ databaseUrl }: Named): string | undefined =>
  /^postgres/.test(databaseUrl) ? undefined : sqlitePath(databaseUrl)

const ofFile = <Result>(options: Named, find: (path: string) => Result): Result | undefined => {
  const path = fileOf(options)
  return path === undefined ? undefined : find(path)
}

/** Returns the server that works on a SQLite store; undefined for none, and for PostgreSQL, which may have several. */
export const findServer = (options: Named): string | undefined => ofFile(options, serverOn)

/** Returns another text once the files of a SQLite store were made, written or replaced. */
export const findWrittenState = (options: Named): string | undefined => ofFile(options, writtenState)

/** Returns the incomplete files that `teslim backup` left when it was killed. The next backup removes them. */
export const findLeftPartials = (options: Named): string[] => ofFile(options, leftPartials) ?? []

/** Returns where a SQLite store was moved; undefined for one that is in use, and for PostgreSQL. Throws if there is no file. */
export const findMoved = (options: Named): Moved | undefined => ofFile(options, (path) => movedFrom(path))

/** Throws STORE_MOVED for one that `findMoved` finds. */
export function refuseMoved(options: StoreOptions): void {
  const moved = findMoved(options)
  if (moved !== undefined) throw movedError(sqlitePath(options.databaseUrl), moved)
}

/** Throws STORE_IN_USE while a server works on the store. One that reaches PostgreSQL through a pooler is not found. */
export async function refuseServers(options: StoreOptions): Promise<void> {
  const server = findServer(options)
  if (server !== undefined)
    throw new AppError(storeErrors.inUse, { message: `The store is in use by ${server}. Stop that process first.` })
  if (fileOf(options) !== undefined) return
  const { openDatabase } = await import('./postgres/database.ts')
  const { refuseSessions } = await import('./postgres/connection/replicas.ts')
  const database = await openDatabase(databaseOf(options))
  try {
    await database.transaction((query, direct) => (direct ? refuseSessions(query) : Promise.resolve()))
  } finally {
    await database.close()
  }
}

/** Keeps servers off a SQLite store while a command works on it. Throws STORE_IN_USE when a server does. On PostgreSQL nothing can keep them off. */
export const keepServersOff = (options: Named, now: number, command: string): ServerLock =>
  ofFile(options, (path) => opening(path, () => lockForServer(path, now, `${command}, `))) ?? {
    release: () => undefined,
  }

/** The part of a request's time that is kept for its commit, which may have to wait for others. */
const COMMIT_MILLISECONDS = 2000

/** Half a second of work for a file at its highest rate. Where the store is slower, the batcher limits how long they wait. */
const MAX_DELIVERIES = 10_000
/** Bytes of the deliveries that wait, where there is plenty of memory. */
const MAX_BYTES = 64 * 1024 * 1024

export const limitsOf = ({ queueDeliveries = MAX_DELIVERIES, requestTimeoutSeconds }: StoreOptions): QueueLimits => {
  const milliseconds = requestTimeoutSeconds * 1000
  return {
    maxItems: queueDeliveries,
    maxBytes: Math.min(MAX_BYTES, memoryShare()),
    maxWaitMilliseconds: Math.max(milliseconds / 2, milliseconds - COMMIT_MILLISECONDS),
  }
}

const databaseOf = ({ databaseUrl, databasePool, databaseTimeoutSeconds, databaseStandby }: StoreOptions) => ({
  url: databaseUrl,
  connections: databasePool,
  timeoutSeconds: databaseTimeoutSeconds,
  standby: databaseStandby,
})

/** Accepts `sqlite:./a.db`, `sqlite:/srv/a.db` and `sqlite:///srv/a.db`, but nothing that SQLite would read as a URI. */
export function sqlitePath(url: string): string {
  const path = url.replace(/^sqlite:(\/\/(?=\/))?/, '')
  if (/^(:|file:|\/\/)|[?\0]/.test(path)) {
    throw new AppError(storeErrors.cannotOpen, {
      message: `DATABASE_URL ${url} does not name a file: write sqlite:./data/teslim.db or sqlite:///srv/teslim.db.`,
    })
  }
  // Absolute, because SQLite reads a relative path that begins with file: as a URI.
  return resolve(path)
}
