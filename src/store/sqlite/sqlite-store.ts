import { dirname } from 'node:path'
import { AppError, reasonOf } from '#src/lib/app-error.ts'
import { refuseRootIn } from '#src/lib/folder-of-another.ts'
import { migrationName, pendingMigrations } from '../migrate.ts'
import { auditStore } from '../sql/audit.ts'
import { refusedStore } from '../sql/refused.ts'
import { secretStore } from '../sql/secrets.ts'
import { webhookStore } from '../sql/webhooks/webhooks.ts'
import { OTHER_TABLES, storeErrors } from '../store.errors.ts'
import type { InspectedStore, OpenedStore, QueueLimits, Store } from '../store.ts'
import { lastBackupAt } from './backup-record.ts'
import { openDatabase, opening, type Row, useAutoVacuum, useWriteAheadLog } from './database.ts'
import { sqliteDeliveries } from './deliveries/deliveries.ts'
import { DELIVERY_STATEMENTS } from './deliveries/writes.ts'
import { diskUseOf } from './disk-use.ts'
import { lockForServer, lockPath, locksOn, type ServerLock } from './locks/server-lock.ts'
import { appliedTo, findForeignCode, knownMigrations, migrate, refuseForeignCode } from './migrations.ts'
import { refuseMoved } from './moved.ts'
import { type Connections, sqliteNoun } from './nouns.ts'
import { sqlitePurges } from './purges.ts'
import { rollUpStore } from './roll-ups.ts'
import { changeOf, createStoreFile, realPath, refuseSecondName, watchedFile, watchedFiles } from './store-file.ts'
import { type StoreWatch, watchStore } from './store-watch.ts'
import { createReader, type SpawnThread } from './thread/store-thread.ts'
import { createWriter } from './thread/writer.ts'

interface SqliteOptions {
  readonly path: string
  readonly now: number
  readonly limits: QueueLimits
  /** Whether to make a store where there is none; else that throws STORE_MISSING. */
  readonly create?: boolean | undefined
  /** Whether the store is for the one server that may work on the file. */
  readonly toServe?: boolean
  /** Whether it reads and writes in the calling thread. */
  readonly withoutThreads?: boolean
  readonly evenMoved?: boolean
  /** Replaced by tests that kill the threads. */
  readonly spawn?: SpawnThread
  readonly spawnReader?: SpawnThread
}

export async function openSqliteStore(options: SqliteOptions): Promise<OpenedStore> {
  const { path, now, limits, create = true, toServe = false, withoutThreads = false, evenMoved = false } = options
  const { spawn, spawnReader } = options
  if (toServe) refuseRootIn(dirname(path))
  if (create) opening(path, () => createStoreFile(path))
  const file = watchedFile(path)
  const database = openDatabase(path)
  let lock: ServerLock | undefined
  try {
    const known = knownMigrations()
    // Another application's file must stay as it is.
    const created = pendingMigrations(known, appliedTo(database)).length === known.length
    // Else the log of a store that was replaced just now would lie beside the one that replaced it.
    const change = changeOf([file])
    if (change !== undefined) throw new AppError(storeErrors.unavailable, { reason: `${change} while it was opened` })
    if (created && !create) throw new AppError(storeErrors.missing)
    if (created) useAutoVacuum(database)
    useWriteAheadLog(database)
    if (toServe) {
      lock = opening(lockPath(path), () => lockForServer(path, now))
      opening(path, () => refuseSecondName(path))
    }
    // After the lock, which a copy holds until it has marked the store.
    if (!evenMoved) refuseMoved(database)
    if (toServe) refuseForeignCode(database, known)
    const migrated = migrate(database, known, now)
    const files = watchedFiles(path)
    const watch = watchStore(toServe ? [...files, watchedFile(lockPath(path))] : files, realPath(path))
    const patienceMilliseconds = toServe
      ? Math.min(SERVING_PATIENCE_MILLISECONDS, limits.maxWaitMilliseconds)
      : undefined
    const here = withoutThreads ? (await import('./thread/serve.ts')).openPerformer : undefined
    const writer = createWriter({ path, files, watch, spawn, here, patienceMilliseconds })
    const reader = createReader(path, spawnReader, here)
    return {
      store: storeOn({ database, watch, writer, reader }, limits, () => lock?.release()),
      migrated,
      created,
    }
  } catch (error) {
    database.close()
    lock?.release()
    throw error
  }
}

export async function inspectSqliteStore({
  path,
  limits,
  immutable = false,
}: Pick<SqliteOptions, 'path' | 'limits'> & { readonly immutable?: boolean }): Promise<InspectedStore> {
  const database = openDatabase(path, { readOnly: true, immutable })
  try {
    const known = knownMigrations()
    const applied = appliedTo(database)
    const pending = pendingMigrations(known, applied).map(migrationName)
    const files = watchedFiles(path)
    const watch = watchStore(files, realPath(path))
    const writer = createWriter({ path, files, watch })
    const { openPerformer } = await import('./thread/serve.ts')
    const reader = createReader(path, undefined, openPerformer)
    return {
      store: storeOn({ database, watch, writer, reader }, limits),
      pending,
      empty: pending.length === known.length,
      async findDamage(look) {
        const foreign = findForeignCode(database, known, applied)
        if (foreign !== undefined || look === 'schema') return foreign
        return database
          .all(look === 'indexes' ? 'PRAGMA integrity_check(1)' : 'PRAGMA quick_check(1)')
          .map((row) => String(Object.values(row)[0]))
          .find((line) => line !== 'ok')
      },
      facts: async () => ({
        database: `SQLite ${process.versions.sqlite}`,
        supported: true,
        unfit: null,
        now: null,
        connections: null,
        openToAll: null,
        standbys: null,
        partitionsEnd: null,
        locks: await locksOn(path, files),
      }),
    }
  } catch (error) {
    database.close()
    throw error
  }
}

/** How long other work may wait for the lock of another process while it keeps deliveries waiting. */
const SERVING_PATIENCE_MILLISECONDS = 2000

interface Threads extends Connections {
  readonly watch: StoreWatch
}

function storeOn(threads: Threads, limits: QueueLimits, release: () => void = () => undefined): Store {
  const { database, writer, reader, watch } = threads
  const rollUps = rollUpStore(sqliteNoun('rollUps', threads))
  const deliveries = sqliteDeliveries(threads, limits)
  /** SQLite changes it with each change of the schema. */
  let triedSchema: unknown
  const tryStatements = async (): Promise<void> => {
    // Makes the connection read a schema that another one has changed; preparing alone does not.
    database.get('SELECT number FROM account_version')
    const { schema_version } = database.get('PRAGMA schema_version') as Row
    if (schema_version === triedSchema) return
    try {
      for (const sql of DELIVERY_STATEMENTS) database.check(sql)
    } catch (cause) {
      throw new AppError(storeErrors.unavailable, { reason: `${OTHER_TABLES} (${(cause as Error).message})`, cause })
    }
    triedSchema = schema_version
  }
  return {
    customers: sqliteNoun('customers', threads),
    apiKeys: sqliteNoun('apiKeys', threads),
    deliveries,
    purges: sqlitePurges(sqliteNoun('purges', threads), rollUps),
    rollUps,
    signingKeys: sqliteNoun('signingKeys', threads),
    secrets: secretStore(sqliteNoun('secrets', threads)),
    audit: auditStore(sqliteNoun('audit', threads)),
    refused: refusedStore(sqliteNoun('refused', threads)),
    loginFailures: sqliteNoun('loginFailures', threads),
    consoleSessions: sqliteNoun('consoleSessions', threads),
    webhooks: webhookStore(sqliteNoun('webhooks', threads)),
    accountVersion: async () => Number(database.get('SELECT number FROM account_version')?.number),
    ping: async () => {
      try {
        await tryStatements()
        await writer.prove()
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        const reason = reasonOf(error)
        throw new AppError(storeErrors.unavailable, { message: `The store cannot take anything: ${reason}.`, reason })
      }
    },
    tryStatements,
    lastBackupAt: () => lastBackupAt(database.path),
    gone: watch.gone,
    diskUse: () => diskUseOf(database.path),
    history: async () => ({ timeline: null, lastPosition: await deliveries.lastPosition(), resumed: null }),
    replicas: async () => undefined,
    close: async () => {
      watch.close()
      await deliveries.drained()
      await reader.close()
      await writer.close()
      database.close()
      release()
    },
  }
}
