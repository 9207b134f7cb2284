import type { DeliveryStore } from './delivery-store.ts'

export type * from './delivery-store.ts'

/**
 * What teslim asks of a database, in no database's words. Two adapters implement it in this order, and one conformance
 * suite (test/store/store-conformance.ts) holds both to it.
 */
export interface Store {
  readonly customers: CustomerStore
  readonly apiKeys: ApiKeyStore
  readonly deliveries: DeliveryStore
  readonly signingKeys: SigningKeyStore
  readonly secrets: SecretStore
  readonly audit: AuditStore
  readonly loginFailures: LoginFailureStore
  /** Another number than before whenever a customer, an API key or a signing key may have changed, by whatever process. */
  accountVersion(): Promise<number>
  /**
   * Resolves when a delivery could be stored now; rejects with STORE_UNAVAILABLE, and a message for operators, when it could
   * not. Writes at most once in ten seconds while all is well.
   */
  ping(): Promise<void>
  /**
   * Resolves, with the reason, once this process must not go on with the store, since what it writes no longer counts. Nothing
   * is confirmed from then on; another process may open what is there.
   */
  readonly gone: Promise<string>
  /** Finishes what was submitted, then closes. */
  close(): Promise<void>
}

export interface Customer {
  readonly id: string
  /** Canonical: trimmed, ASCII letters in lower case. Unique. */
  readonly email: string
  /** PHC string. */
  readonly passwordHash: string
  readonly isApi: boolean
  readonly operator: boolean
  readonly enabled: boolean
  /** Two capital letters each, sorted. */
  readonly regions: readonly string[]
  /** Exact product codes, prefixes (`ABC-*`) or `*`, sorted. */
  readonly authority: readonly string[]
  /** Seconds since 1970. A token issued before is refused. */
  readonly tokensValidFrom: number
  /** Milliseconds since 1970. */
  readonly createdAt: number
}

export interface CustomerStore {
  insert(customer: Customer): Promise<'inserted' | 'email-taken'>
  findById(id: string): Promise<Customer | undefined>
  findByEmail(email: string): Promise<Customer | undefined>
  /** By id, beginning after `afterId`. */
  list(page: { readonly afterId?: string; readonly limit: number }): Promise<Customer[]>
  /** The methods below resolve to false when there is no such customer. `tokensValidFrom` never moves back. */
  setPassword(id: string, passwordHash: string, tokensValidFrom: number): Promise<boolean>
  /** Changes nothing, and resolves to false, when the hash is no longer `from`. */
  replacePasswordHash(id: string, from: string, to: string): Promise<boolean>
  enable(id: string): Promise<boolean>
  disable(id: string, tokensValidFrom: number): Promise<boolean>
  revokeTokens(id: string, tokensValidFrom: number): Promise<boolean>
  addAuthority(id: string, rules: readonly string[]): Promise<boolean>
  removeAuthority(id: string, rules: readonly string[]): Promise<boolean>
}

export interface ApiKey {
  readonly id: string
  readonly customerId: string
  /** SHA-256 of the key; the key itself is nowhere. */
  readonly hash: Uint8Array
  readonly label: string
  /** These are milliseconds since 1970. */
  readonly createdAt: number
  readonly expiresAt: number | null
  readonly revokedAt: number | null
  /** The key that took its place when it was rotated. */
  readonly successorId: string | null
}

export interface ApiKeyUse {
  readonly keyId: string
  readonly usedAt: number
  readonly address: string
}

export interface ApiKeyStore {
  insert(key: ApiKey): Promise<void>
  findByHash(hash: Uint8Array): Promise<{ readonly key: ApiKey; readonly customer: Customer } | undefined>
  /** The oldest first, with their last use if there was one. */
  list(customerId?: string): Promise<(ApiKey & { readonly lastUse: ApiKeyUse | null })[]>
  /** Resolves to false when there is no such key. The first revocation stands. */
  revoke(id: string, revokedAt: number): Promise<boolean>
  /**
   * Inserts `successor`, of the same customer, and lets the key end at `endsAt` if not earlier: both or neither. Resolves
   * to false, having done nothing, when there is no such key, when it opens nothing at `now`, or has a successor already.
   */
  rotate(id: string, successor: ApiKey, times: { readonly now: number; readonly endsAt: number }): Promise<boolean>
  recordUses(uses: readonly ApiKeyUse[]): Promise<void>
}

export interface SigningKey {
  /** RFC 7638 thumbprint. */
  readonly kid: string
  readonly algorithm: string
  /** The private JWK as JSON text, or that text encrypted: the store does not know which. */
  readonly privateJwk: string
  /** Milliseconds since 1970. */
  readonly createdAt: number
  /** Then it verifies nothing any more. Null until a newer key takes its place: only such a key signs. */
  readonly expiresAt: number | null
}

export interface SigningKeyStore {
  /** Keeps `candidate` unless a key of its algorithm that may sign is there already; resolves to the newest such key. */
  insertFirst(candidate: SigningKey): Promise<SigningKey>
  /** Newest first, by `createdAt`, then `kid`. */
  list(): Promise<SigningKey[]>
  /**
   * Puts `candidate` in the place of all keys, which expire at `othersExpireAt` at the latest. Changes nothing, and
   * resolves to false, when the newest key of its algorithm that may sign is no longer `replaced`.
   */
  rotate(candidate: SigningKey, replaced: string, othersExpireAt: number): Promise<boolean>
  /** Deletes the keys that have expired by then, and resolves to their number. */
  removeExpired(now: number): Promise<number>
  /** All changes or none: none, and false, when one of the keys is gone or its text is no longer `from`. */
  rewrap(changes: readonly SigningKeyRewrap[]): Promise<boolean>
}

export interface SigningKeyRewrap {
  readonly kid: string
  readonly from: string
  readonly to: string
}

/** What all processes on one store know and nobody else. */
export interface SecretStore {
  /** Keeps `candidate` unless there is one of that name already; resolves to the one there is. */
  findOrInsert(name: string, candidate: Uint8Array): Promise<Uint8Array>
}

export interface AuditEvent {
  /** Milliseconds since 1970. */
  readonly at: number
  /** `cli:` and the name of who typed, or `api`. */
  readonly actor: string
  /** `customer.add`, `login.refused`. */
  readonly action: string
  readonly customerId: string | null
  readonly address: string | null
  readonly requestId: string | null
  /** More about it; never a secret. */
  readonly details: Readonly<Record<string, unknown>>
}

export interface AuditFilter {
  readonly customerId?: string | undefined
  /** How the action begins. */
  readonly action?: string | undefined
  /** From then on, and until before then, in milliseconds since 1970. */
  readonly from?: number | undefined
  readonly to?: number | undefined
  readonly limit: number
}

export interface AuditStore {
  /** All of them or none. */
  append(events: readonly AuditEvent[]): Promise<void>
  /** The newest that the filter lets through, the newest last. */
  list(filter: AuditFilter): Promise<AuditEvent[]>
  /** Deletes the oldest that came before then, so many at most; resolves to their number. */
  deleteBefore(before: number, limit: number): Promise<number>
}

/** What is counted under a name, which is a digest: the store does not know of whom or what. */
export interface LoginFailures {
  readonly count: number
  /** Milliseconds since 1970. */
  readonly lastAt: number
}

export interface Countdown {
  readonly name: Uint8Array
  /** When it was counted, as which, and the last failure before: it becomes the last again, unless others came meanwhile. */
  readonly countedAt: number
  readonly countedAs: number
  readonly lastAt: number
}

export interface LoginFailureStore {
  /** What there is under each name, in their order; nothing under one that has expired by `now`. */
  find(names: readonly Uint8Array[], now: number): Promise<(LoginFailures | undefined)[]>
  /**
   * Counts one more under each name and resolves to the counts, in their order; what has expired counts as nothing. Also
   * removes some of what has expired, at most twice as many rows as it may add.
   */
  count(failures: readonly { readonly name: Uint8Array; readonly expiresAt: number }[], now: number): Promise<number[]>
  /** Forgets what is under `forget`, counts down by one, and keeps `remember` under a count of none, all or nothing. */
  settle(
    change: {
      readonly forget: readonly Uint8Array[]
      readonly countDown: readonly Countdown[]
      readonly remember: readonly { readonly name: Uint8Array; readonly expiresAt: number }[]
    },
    now: number,
  ): Promise<void>
}
