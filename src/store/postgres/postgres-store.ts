import { AppError } from '#src/lib/app-error.ts'
import { programFile } from '#src/lib/program-files.ts'
import {
  ADD_MIGRATION,
  addedMigration,
  MIGRATION_TABLE,
  type Migration,
  migrationName,
  pendingMigrations,
  readMigrations,
} from '../migrate.ts'
import { apiKeys } from '../sql/api-keys.ts'
import { audit, auditStore } from '../sql/audit.ts'
import { consoleSessions } from '../sql/console-sessions.ts'
import { customers } from '../sql/customers.ts'
import { loginFailures } from '../sql/login-failures.ts'
import { refused, refusedStore } from '../sql/refused.ts'
import { rollUps } from '../sql/roll-ups.ts'
import { secretStore, secrets } from '../sql/secrets.ts'
import { signingKeys } from '../sql/signing-keys.ts'
import { webhookStore, webhooks } from '../sql/webhooks/webhooks.ts'
import { storeErrors } from '../store.errors.ts'
import type { InspectedStore, OpenedStore, QueueLimits, RollUpStore, Store } from '../store.ts'
import { countReplicas } from './connection/replicas.ts'
import { type Database, type DatabaseOptions, openDatabase, type Row } from './database.ts'
import { postgresDeliveries } from './deliveries/deliveries.ts'
import { HISTORY, historyFromRow } from './deliveries/lost.ts'
import { postgres } from './dialect.ts'
import { appliedTo, readFacts, refuseIf, whyUnfit, whyUnsound } from './fitness.ts'
import { postgresNoun } from './nouns.ts'
import { postgresPurges } from './purges.ts'

/** Of the owner of the tables: see functions/roll-ups.sql. */
const COUNT_DELIVERIES = 'SELECT count_deliveries_1($1) AS counted'

const MIGRATIONS = programFile('store/postgres/migrations/')

export interface PostgresOptions extends DatabaseOptions {
  readonly now: number
  readonly limits: QueueLimits
  /** Replaced by tests that bring migrations of their own. */
  readonly migrations?: URL
  /** Whether to make a store where there is none; else that throws STORE_MISSING. */
  readonly create?: boolean | undefined
}

export const openPostgresStore = ({
  now,
  limits,
  migrations = MIGRATIONS,
  create = true,
  ...options
}: PostgresOptions): Promise<OpenedStore> =>
  opened(options, async (database) => {
    const { toServe = false } = options
    refuseIf(await whyUnfit(database, toServe))
    const known = readMigrations(migrations)
    if (!create && (await appliedTo(database.query)).length === 0) throw new AppError(storeErrors.missing)
    const migrated = await migrate(database, known, now)
    if (toServe) refuseIf(await whyUnsound(database.query, known))
    return { store: storeOn(database, limits), migrated, created: migrated.length === known.length }
  })

export const inspectPostgresStore = ({ limits, ...options }: Omit<PostgresOptions, 'now'>): Promise<InspectedStore> =>
  opened(options, async (database) => {
    const known = readMigrations(MIGRATIONS)
    const pending = pendingMigrations(known, await appliedTo(database.query)).map(migrationName)
    const empty = pending.length === known.length
    // The server looks after its files itself.
    const findDamage = async () => undefined
    return { store: storeOn(database, limits), pending, empty, findDamage, facts: () => readFacts(database, known) }
  })

async function opened<Opened>(options: DatabaseOptions, use: (database: Database) => Promise<Opened>): Promise<Opened> {
  const database = await openDatabase(options)
  try {
    return await use(database)
  } catch (error) {
    await database.close()
    throw error
  }
}

function storeOn(database: Database, limits: QueueLimits): Store {
  const hours: RollUpStore = {
    ...postgresNoun(rollUps, database),
    count: async (look) => (await database.query(COUNT_DELIVERIES, look)).rows[0]?.counted as number,
  }
  const deliveries = postgresDeliveries(database, limits)
  return {
    customers: postgresNoun(customers(postgres), database),
    apiKeys: postgresNoun(apiKeys(postgres), database),
    deliveries,
    purges: postgresPurges(database, hours),
    rollUps: hours,
    signingKeys: postgresNoun(signingKeys(postgres), database),
    secrets: secretStore(postgresNoun(secrets(postgres), database)),
    audit: auditStore(postgresNoun(audit(postgres), database)),
    refused: refusedStore({ ...postgresNoun(refused(postgres), database), wipePages: async () => null }),
    loginFailures: postgresNoun(loginFailures(postgres), database),
    consoleSessions: postgresNoun(consoleSessions(postgres), database),
    webhooks: webhookStore(postgresNoun(webhooks(postgres), database)),
    accountVersion: async () =>
      Number((await database.lookUpFirst('SELECT number FROM account_version')).rows[0]?.number),
    ping: database.prove,
    tryStatements: database.tryStatements,
    diskUse: async () => {
      const { rows } = await database.query('SELECT pg_database_size(current_database()) AS size')
      return { file: Number(rows[0]?.size), wal: undefined, mostWal: undefined, free: undefined }
    },
    history: async () => historyFromRow((await database.query(HISTORY)).rows[0] as Row),
    replicas: () => database.transaction(async (query, direct) => (direct ? countReplicas(query) : undefined)),
    lastBackupAt: async () => undefined,
    // Never settles: a lost database server may come back or be replaced.
    gone: new Promise(() => undefined),
    close: async () => {
      await deliveries.drained()
      await database.close()
    },
  }
}

/**
 * When many replicas start at once, the first one applies the migrations while the others wait. Each migration is a transaction of its
 * own, because what one of them locks must not stay locked while the next one works. A new database gets all or none.
 */
async function migrate({ query, transaction }: Database, migrations: readonly Migration[], now: number) {
  const migrated: string[] = []
  while (pendingMigrations(migrations, await appliedTo(query)).length > 0) {
    const applied = await transaction(async (query) => {
      await query('SELECT pg_advisory_xact_lock(7425, 0)')
      await query(MIGRATION_TABLE)
      const applied = await appliedTo(query)
      const pending = pendingMigrations(migrations, applied)
      const next = applied.length === 0 ? pending : pending.slice(0, 1)
      for (const migration of next) {
        await query(migration.sql)
        await query(ADD_MIGRATION, ...addedMigration(migration, now))
      }
      return next.map(migrationName)
    })
    migrated.push(...applied)
  }
  return migrated
}
