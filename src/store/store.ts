import type { ApiKeyStore } from './api-key-store.ts'
import type { AuditStore } from './audit-store.ts'
import type { ConsoleSessionStore } from './console-session-store.ts'
import type { CustomerStore, LoginFailureStore } from './customer-store.ts'
import type { DeliveryStore } from './delivery-store.ts'
import type { PurgeStore } from './purge-store.ts'
import type { RefusedStore } from './refused-store.ts'
import type { RollUpStore } from './roll-up-store.ts'
import type { SecretStore, SigningKeyStore } from './secret-store.ts'
import type { WebhookStore } from './webhook-store.ts'

export type * from './api-key-store.ts'
export type * from './audit-store.ts'
export type * from './console-session-store.ts'
export type * from './customer-store.ts'
export type * from './delivery-store.ts'
export type * from './purge-store.ts'
export type * from './refused-store.ts'
export type * from './roll-up-store.ts'
export type * from './secret-store.ts'
export type * from './webhook.ts'
export { isWanted, WEBHOOK_PAUSES } from './webhook.ts'
export type * from './webhook-store.ts'
export { MAX_PAUSE_MILLISECONDS } from './webhook-store.ts'
export { withinBytes } from './within-bytes.ts'

/**
 * The port: all that teslim needs from a database. Two adapters implement it, and one conformance suite in test/store tests
 * both.
 */
export interface Store {
  readonly customers: CustomerStore
  readonly apiKeys: ApiKeyStore
  readonly deliveries: DeliveryStore
  readonly purges: PurgeStore
  readonly rollUps: RollUpStore
  readonly signingKeys: SigningKeyStore
  readonly secrets: SecretStore
  readonly audit: AuditStore
  readonly refused: RefusedStore
  readonly loginFailures: LoginFailureStore
  readonly consoleSessions: ConsoleSessionStore
  readonly webhooks: WebhookStore
  /** Changes whenever any process may have changed a customer, an API key or a signing key. */
  accountVersion(): Promise<number>
  /**
   * Resolves if a delivery could be stored now; else rejects with STORE_UNAVAILABLE and a message for operators, also when
   * that would take more than a second. Takes two seconds at most. Writes at most once in ten seconds while the store works.
   */
  ping(): Promise<void>
  /**
   * Rejects with STORE_UNAVAILABLE if the tables are not those that the statements of a delivery need. Writes nothing and takes no
   * position. A part of `ping`.
   */
  tryStatements(): Promise<void>
  /** Resolves to where the history of the deliveries stands. */
  history(): Promise<StoreHistory>
  /**
   * Resolves to when the last successful `teslim backup` began, in milliseconds since 1970; undefined if there was none, and
   * always on PostgreSQL, which has its own tools.
   */
  lastBackupAt(): Promise<number | undefined>
  /**
   * Resolves with the reason when the store is lost to this process, which must then end. Nothing is confirmed from then on.
   * Another process may open the store.
   */
  readonly gone: Promise<string>
  diskUse(): Promise<DiskUse>
  /**
   * Counts the servers that work on the same PostgreSQL database and reach it without a pooler. One that ended without closing its
   * connection counts until the database notices. Undefined for a file, and for a store that is reached through a pooler.
   */
  replicas(): Promise<number | undefined>
  /** Stores what was submitted, then closes. */
  close(): Promise<void>
}

export interface StoreHistory {
  /** The timeline of the PostgreSQL server; null where it does not tell, and for a file. */
  readonly timeline: number | null
  /** The position of the last delivery, whether or not it was purged since; 0 for none. */
  readonly lastPosition: number
  /** How deliveries went on after the last failover or recovery; null before the first one, and for a file. */
  readonly resumed: {
    /** When the first batch came, in milliseconds since 1970. */
    readonly at: number
    /** Of the last delivery that was left. */
    readonly lastPosition: number
    /** The positions of new deliveries follow this one. */
    readonly after: number
  } | null
}

/** What the store takes of its disk, in bytes. */
export interface DiskUse {
  /** The file, or the database. */
  readonly file: number
  /** The write-ahead log; undefined where the database server keeps one for itself. */
  readonly wal: number | undefined
  /** How large the log may be: beyond it deliveries are refused. */
  readonly mostWal: number | undefined
  /** Free for teslim on the disk of the file; undefined where the database server has it. */
  readonly free: number | undefined
}

export interface QueueLimits {
  readonly maxItems: number
  readonly maxBytes: number
  /** How long a delivery may wait until its commit begins. */
  readonly maxWaitMilliseconds: number
}

export interface OpenedStore {
  readonly store: Store
  /** Names of the migrations that opening it applied. */
  readonly migrated: readonly string[]
  /** Whether there was no store before. */
  readonly created: boolean
}

/** What the database says about itself. Null: does not apply to this kind of store, or cannot be seen from here. */
export interface StoreFacts {
  /** Its name and version. */
  readonly database: string
  /** Whether teslim works with that version. */
  readonly supported: boolean
  /** Why no server starts on it although it answers. */
  readonly unfit: string | null
  /** The clock of its machine, in milliseconds since 1970. */
  readonly now: number | null
  /** Connections in use, and how many a role without privileges may use. */
  readonly connections: { readonly used: number; readonly most: number } | null
  /** Whether every role of the database server may connect to this database. */
  readonly openToAll: boolean | null
  /** Standbys that are connected, and whether commits wait for one. */
  readonly standbys: { readonly connected: number; readonly synchronous: boolean } | null
  /** When the last partition for deliveries ends, in milliseconds since 1970. */
  readonly partitionsEnd: number | null
  readonly locks: FileLocks | null
}

/** Locks on the file of an embedded store. */
export interface FileLocks {
  /** Whether the server that works on the file holds its lock; null if there is no server, or that cannot be seen. */
  readonly ofServer: boolean | null
  /** Other processes that hold a write lock. */
  readonly writers: readonly string[]
}

export interface InspectedStore {
  readonly store: Store
  /** Names of the migrations that opening it would apply. With any, some reads may fail. */
  readonly pending: readonly string[]
  /** Whether no migration was ever applied: a database without a store. */
  readonly empty: boolean
  /** Resolves to what is wrong with the file, if something is: with its schema, its pages, or also its indexes. */
  findDamage(look: 'schema' | 'pages' | 'indexes'): Promise<string | undefined>
  facts(): Promise<StoreFacts>
}
