import type { DeliveryStore } from './delivery-store.ts'
import type { PurgeStore } from './purge-store.ts'
import type { RefusedStore } from './refused-store.ts'
import type { NewRefusals, RollUpStore } from './roll-up-store.ts'

export type * from './delivery-store.ts'
export type * from './purge-store.ts'
export type * from './refused-store.ts'
export { ROW_BYTES } from './refused-store.ts'
export type * from './roll-up-store.ts'

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
  /** Changes whenever any process may have changed a customer, an API key or a signing key. */
  accountVersion(): Promise<number>
  /**
   * Resolves if a delivery could be stored now; else rejects with STORE_UNAVAILABLE and a message for operators. Writes at
   * most once in ten seconds while the store works.
   */
  ping(): Promise<void>
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
  room(): Promise<StoreRoom>
  /** Stores what was submitted, then closes. */
  close(): Promise<void>
}

/** What the store takes of its disk, in bytes. */
export interface StoreRoom {
  /** The file, or the database. */
  readonly file: number
  /** The write-ahead log; undefined where the database server keeps one for itself. */
  readonly wal: number | undefined
  /** Free for teslim on the disk of the file; undefined where the database server has it. */
  readonly free: number | undefined
}

export interface Customer {
  readonly id: string
  /** Trimmed, with ASCII letters in lower case. Unique. */
  readonly email: string
  /** PHC string. */
  readonly passwordHash: string
  readonly isApi: boolean
  readonly operator: boolean
  /** Whether an operator may only read; false for everybody else. */
  readonly readOnly: boolean
  readonly enabled: boolean
  /** Two capital letters each, sorted. */
  readonly regions: readonly string[]
  /** Exact product codes, prefixes (`ABC-*`) or `*`, sorted. */
  readonly authority: readonly string[]
  /** Seconds since 1970. Tokens issued earlier are refused. */
  readonly tokensValidFrom: number
  /** Milliseconds since 1970. */
  readonly createdAt: number
}

export interface CustomerStore {
  insert(customer: Customer): Promise<'inserted' | 'email-taken'>
  findById(id: string): Promise<Customer | undefined>
  findByEmail(email: string): Promise<Customer | undefined>
  /** Lists by id, beginning after `afterId`. */
  list(page: { readonly afterId?: string; readonly limit: number }): Promise<Customer[]>
  /** This method and those below resolve to false if there is no such customer. `tokensValidFrom` never decreases. */
  setPassword(id: string, passwordHash: string, tokensValidFrom: number): Promise<boolean>
  /** Changes nothing and resolves to false if the hash is no longer `from`. */
  replacePasswordHash(id: string, from: string, to: string): Promise<boolean>
  enable(id: string): Promise<boolean>
  disable(id: string, tokensValidFrom: number): Promise<boolean>
  revokeTokens(id: string, tokensValidFrom: number): Promise<boolean>
  addAuthority(id: string, rules: readonly string[]): Promise<boolean>
  removeAuthority(id: string, rules: readonly string[]): Promise<boolean>
  /** Changes what is given, all or nothing. */
  change(id: string, change: CustomerChange): Promise<'changed' | 'missing' | 'email-taken'>
  /**
   * Forgets everything about a customer except its id, to which its deliveries belong: the e-mail address becomes
   * `removed:` and the id, its keys are revoked. With `erase`, its deliveries count as erased from then on.
   */
  remove(
    id: string,
    how: { readonly tokensValidFrom: number; readonly now: number; readonly erase: boolean },
  ): Promise<boolean>
}

export interface CustomerChange {
  readonly email?: string | undefined
  readonly isApi?: boolean | undefined
  readonly operator?: boolean | undefined
  readonly readOnly?: boolean | undefined
  /** All regions from then on. */
  readonly regions?: readonly string[] | undefined
  readonly tokensValidFrom?: number | undefined
}

export interface ApiKey {
  readonly id: string
  readonly customerId: string
  /** SHA-256 of the key. The key itself is not stored. */
  readonly hash: Uint8Array
  readonly label: string
  /** This time and those below are milliseconds since 1970. */
  readonly createdAt: number
  readonly expiresAt: number | null
  readonly revokedAt: number | null
  /** The key that replaced this one when it was rotated. */
  readonly successorId: string | null
  /** Where the key may be used from, each in canonical spelling; null for anywhere. */
  readonly networks: readonly string[] | null
  /** Deliveries a minute, 0 for no limit; null for that of the server. */
  readonly rateLimit: number | null
}

/** What is not given stays. */
export interface ApiKeyChange {
  readonly label?: string | undefined
  readonly expiresAt?: number | null | undefined
  readonly networks?: readonly string[] | null | undefined
  readonly rateLimit?: number | null | undefined
}

export interface ApiKeyUse {
  readonly keyId: string
  readonly usedAt: number
  readonly address: string
}

export interface ListedApiKey extends ApiKey {
  /** Null for a key that was never used. */
  readonly lastUse: ApiKeyUse | null
}

export interface ApiKeyStore {
  insert(key: ApiKey): Promise<void>
  findByHash(hash: Uint8Array): Promise<{ readonly key: ApiKey; readonly customer: Customer } | undefined>
  /** Lists the oldest first. */
  list(customerId?: string): Promise<ListedApiKey[]>
  /** Lists the keys of a customer by id, beginning after `afterId`: the oldest first. */
  page(
    customerId: string,
    page: { readonly afterId?: string | undefined; readonly limit: number },
  ): Promise<ListedApiKey[]>
  /** Resolves to false if there is no such key. A second revocation does not change the time of the first. */
  revoke(id: string, revokedAt: number): Promise<boolean>
  /** Changes what is given, all or nothing. Resolves to false if there is no such key, or if it is revoked. */
  change(id: string, change: ApiKeyChange): Promise<boolean>
  /**
   * Inserts `successor`, which belongs to the same customer, and makes the key expire at `endsAt` at the latest. Changes
   * nothing and resolves to false if there is no such key, if it is not valid at `now`, or has a successor already.
   */
  rotate(id: string, successor: ApiKey, times: { readonly now: number; readonly endsAt: number }): Promise<boolean>
  recordUses(uses: readonly ApiKeyUse[]): Promise<void>
  /** Counts the keys that expire after `from` and by `to`, are not revoked, and have no successor. */
  countExpiring(from: number, to: number): Promise<number>
}

export interface SigningKey {
  /** RFC 7638 thumbprint. */
  readonly kid: string
  readonly algorithm: string
  /** The private JWK as JSON, unencrypted or encrypted. */
  readonly privateJwk: string
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** When the key stops verifying tokens. Null for a key that has not been replaced; only such a key signs. */
  readonly expiresAt: number | null
}

export interface SigningKeyStore {
  /** Inserts `candidate` unless there is a key of its algorithm that may sign. Resolves to the newest such key. */
  insertFirst(candidate: SigningKey): Promise<SigningKey>
  /** Lists the newest first, by `createdAt`, then `kid`. */
  list(): Promise<SigningKey[]>
  /**
   * Inserts `candidate` and makes all other keys expire at `othersExpireAt` at the latest. Changes nothing and resolves to
   * false if the newest key of its algorithm that may sign is no longer `replaced`.
   */
  rotate(candidate: SigningKey, replaced: string, othersExpireAt: number): Promise<boolean>
  /** Deletes the keys that have expired by `now`. Resolves to their number. */
  removeExpired(now: number): Promise<number>
  /** Makes all changes or none. Resolves to false if a key is missing or its text is no longer `from`. */
  rewrap(changes: readonly SigningKeyRewrap[]): Promise<boolean>
}

export interface SigningKeyRewrap {
  readonly kid: string
  readonly from: string
  readonly to: string
}

/** Secrets that all processes on one store share. */
export interface SecretStore {
  /** Inserts `candidate` unless there is a secret of that name. Resolves to the secret that is stored. */
  findOrInsert(name: string, candidate: Uint8Array): Promise<Uint8Array>
  /** Lists the secrets whose name begins with `prefix`. */
  list(prefix: string): Promise<{ readonly name: string; readonly value: Uint8Array }[]>
  /** Does nothing if there is no secret of that name. */
  rename(name: string, newName: string): Promise<void>
}

export interface AuditEvent {
  /** Milliseconds since 1970. */
  readonly at: number
  /** `cli:` and the name of the user, or `api`. */
  readonly actor: string
  /** For example `customer.add` or `login.refused`. */
  readonly action: string
  readonly customerId: string | null
  readonly address: string | null
  readonly requestId: string | null
  /** Identifies a refused delivery that is recorded one by one. */
  readonly refusalId: string | null
  readonly orderId: string | null
  readonly keyId: string | null
  /** Never contains a secret. */
  readonly details: Readonly<Record<string, unknown>>
}

export interface AuditFilter {
  readonly customerId?: string | undefined
  /** The prefix of the action. */
  readonly action?: string | undefined
  readonly orderId?: string | undefined
  readonly requestId?: string | undefined
  /** Inclusive, in milliseconds since 1970. */
  readonly from?: number | undefined
  /** Exclusive. */
  readonly to?: number | undefined
  readonly limit: number
}

export interface AuditStore {
  /** Appends all events and adds to the counts of refusals, or does nothing. */
  append(events: readonly AuditEvent[], refusals?: readonly NewRefusals[]): Promise<void>
  /** Returns the newest `limit` matches, the newest last. */
  list(filter: AuditFilter): Promise<AuditEvent[]>
  /** Deletes the oldest events from before a time, at most `limit`. Resolves to their number. */
  deleteBefore(before: number, limit: number): Promise<number>
}

/** A count of failed logins under a name. The name is a digest, so the store reveals neither account nor address. */
export interface LoginFailures {
  readonly count: number
  /** Milliseconds since 1970. */
  readonly lastAt: number
}

export interface Countdown {
  readonly name: Uint8Array
  /** Identify the failure to undo: its time, and the count that `count` returned for it. */
  readonly countedAt: number
  readonly countedAs: number
  /** Time of the previous failure. It becomes the last one again unless others were counted meanwhile. */
  readonly lastAt: number
}

export interface LoginFailureStore {
  /** Finds the count under each name, in their order; undefined if there is none or it has expired by `now`. */
  find(names: readonly Uint8Array[], now: number): Promise<(LoginFailures | undefined)[]>
  /**
   * Adds one to the count under each name and resolves to the counts, in their order. Expired counts start at 0. Also deletes
   * expired rows, at most twice as many as it may add.
   */
  count(failures: readonly { readonly name: Uint8Array; readonly expiresAt: number }[], now: number): Promise<number[]>
  /** Deletes the names in `forget`, subtracts one under those in `countDown`, and adds `remember` with a count of 0: all or nothing. */
  settle(
    change: {
      readonly forget: readonly Uint8Array[]
      readonly countDown: readonly Countdown[]
      readonly remember: readonly { readonly name: Uint8Array; readonly expiresAt: number }[]
    },
    now: number,
  ): Promise<void>
}
