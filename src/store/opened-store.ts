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

export interface InspectedStore {
  readonly store: Store
  /** Names of the migrations that opening it would apply. With any, some reads may fail. */
  readonly pending: readonly string[]
  /** Whether no migration was ever applied: a database without a store. */
  readonly empty: boolean
  /** Reads the whole file and resolves to what is wrong with it, if something is. `indexes` compares them with their tables. */
  findDamage(options?: { readonly indexes?: boolean }): Promise<string | undefined>
}
