import type { Store } from './store.ts'

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
