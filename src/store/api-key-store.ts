import type { Customer } from './customer-store.ts'
import type { Bounds } from './delivery-store.ts'

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

/** What is known of the keys of a customer that has some. */
export interface KeySummary {
  readonly customerId: string
  readonly live: number
  /** Live, but expire by a given time, and no key took their place. */
  readonly expiring: number
  /** Expired, not revoked, and no live key took their place. */
  readonly expired: number
  /** When one of them was used last; null for never. */
  readonly lastUsedAt: number | null
}

/** A supplier from which nothing came for too long. */
export interface Silent {
  readonly customerId: string
  /** When one of its keys was used last, or when its first key was made if none ever was; milliseconds since 1970. */
  readonly since: number
  readonly everHeard: boolean
}

export interface SilentPage {
  readonly silent: Silent[]
  /** Whether one of those looked at can fall silent: none can until an account changes. */
  readonly isWatched: boolean
  /** The id to continue after; null at the end. */
  readonly next: string | null
}

export interface SilenceTimes {
  readonly now: number
  /** Milliseconds that hold for customers without a silence of their own; 0 for never. */
  readonly silence: number
}

/** The part of the port for API keys. */
export interface ApiKeyStore {
  insert(key: ApiKey): Promise<void>
  findByHash(hash: Uint8Array): Promise<{ readonly key: ApiKey; readonly customer: Customer } | undefined>
  findById(id: string): Promise<ListedApiKey | undefined>
  /** Returns keys whose ids begin with a text. */
  withPrefix(prefix: string, limit: number): Promise<ListedApiKey[]>
  /** Returns keys after an id whose labels have a text, lower-cased in ASCII as it is; `next` is the id to continue after, null at the end. */
  labelled(
    part: string,
    afterId: string,
    bounds: Bounds,
  ): Promise<{ readonly keys: ListedApiKey[]; readonly next: string | null }>
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
  /**
   * Keeps the latest use of each key, however late it comes. An earlier one takes its place only if the kept one lies more than
   * a minute after `now`: then a clock was put back.
   */
  recordUses(uses: readonly ApiKeyUse[], now: number): Promise<void>
  /** Counts the keys that expire after `from` and by `to`, are not revoked, and have no successor. */
  countExpiring(from: number, to: number): Promise<number>
  /**
   * Summarizes the keys of these customers at `now`, with those that expire by `soon`. A key takes the place of another if it
   * expires later, and was made by a rotation of it, or was issued later under the same label.
   */
  summaries(
    customerIds: readonly string[],
    times: { readonly now: number; readonly soon: number },
  ): Promise<KeySummary[]>
  /**
   * Finds who is silent among `scan` customers after an id, by id: enabled, with rules, with a key or a former one, and no key was used
   * for as long as its silence.
   */
  silentAfter(afterId: string, scan: number, times: SilenceTimes): Promise<SilentPage>
  /** Finds who is silent among these customers, by id. */
  silentAmong(customerIds: readonly string[], times: SilenceTimes): Promise<Silent[]>
}
