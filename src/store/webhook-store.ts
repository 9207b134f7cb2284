import type { DeliverySummary } from './delivery-store.ts'

/** Where an endpoint's deliveries go, and which. */
export interface WebhookSettings {
  readonly url: string
  /** Only deliveries of this customer; null for all customers. */
  readonly customerId: string | null
  /** Only deliveries with one of these Statuses; null for all. */
  readonly statuses: readonly number[] | null
  /** Whether duplicates are sent, too. */
  readonly duplicates: boolean
  /** The certificate authority of the endpoint, as PEM; null for those that Node trusts. */
  readonly ca: string | null
  /** How long a delivery may fail before it is set aside; null for as long as it takes. */
  readonly giveUpMilliseconds: number | null
}

/** Up to where deliveries were taken from the feed, as FeedPlace in src/purchase/feed-place.ts. */
export interface WebhookPlace {
  readonly position: number
  readonly generation: number
}

export interface NewWebhook extends WebhookSettings {
  /** A version 7 UUID. */
  readonly id: string
  readonly createdAt: number
  /** Sealed. */
  readonly secret: string
  readonly place: WebhookPlace
}

/** Why an endpoint is paused: by an operator, because it answered 410, with its customer, or with a restored or copied store. */
export const WEBHOOK_PAUSES = ['operator', 'gone', 'customer-removed', 'restored'] as const
export type WebhookPause = (typeof WEBHOOK_PAUSES)[number]

export interface Webhook extends NewWebhook {
  /** The secret before the last rotation, which signs, too, until then. */
  readonly formerSecret: { readonly sealed: string; readonly until: number } | null
  readonly paused: { readonly reason: WebhookPause; readonly at: number } | null
  /** Rises with every change by operators, replays included: its holder loads it again. */
  readonly version: number
  /** Rises when an operator sets the place: progress made before is not stored any more. */
  readonly epoch: number
  readonly lastSuccessAt: number | null
  /** When the first of the failures since the last success happened; null if the last attempt succeeded. */
  readonly failingSince: number | null
  /** When the next attempt is due if nothing new comes in; null if there is nothing to try again. */
  readonly nextTryAt: number | null
  /** Deliveries before the place that are not confirmed and not set aside. */
  readonly waiting: number
  readonly setAside: number
}

export interface WebhookChange {
  readonly paused?: { readonly reason: WebhookPause; readonly at: number } | null | undefined
  readonly secret?: string | undefined
  readonly formerSecret?: { readonly sealed: string; readonly until: number } | null | undefined
  /** Sends everything after this place again. What waits before it and what is set aside stays. Raises the epoch. */
  readonly place?: WebhookPlace | undefined
}

/** A delivery that is not confirmed, though the endpoint's place lies at or after it, or one that an operator has sent again. */
export interface WaitingDelivery {
  readonly position: number
  /** Failed attempts; 0 if it only waits for an earlier delivery of its order. */
  readonly failures: number
  readonly firstFailedAt: number | null
  /** When it is tried again; null if it only waits for others, or is set aside. */
  readonly nextAt: number | null
  readonly setAsideAt: number | null
  /** Status code or reason of the last failure. */
  readonly lastError: string | null
}

/** A failed attempt, or one that an operator asked for. Successes are only counted. */
export interface WebhookAttempt {
  readonly at: number
  /** Null for a test. */
  readonly position: number | null
  readonly receiptId: string | null
  /** Null if no answer came. */
  readonly status: number | null
  /** Null for a success. */
  readonly error: string | null
  readonly milliseconds: number
  /** The beginning of the answer's body, at most 1 KiB. */
  readonly response: string | null
  readonly nextAt: number | null
}

/** The attempts that ended in one minute. */
export interface WebhookMinute {
  /** The start of the minute, in milliseconds since 1970. */
  readonly minute: number
  readonly succeeded: number
  readonly failed: number
  readonly longestMilliseconds: number
}

/** What happened since the last save. */
export interface WebhookSave {
  readonly id: string
  /** The epoch that the holder works with. */
  readonly epoch: number
  /** Every delivery up to here is confirmed, left out by the filter, waiting or set aside. */
  readonly place: WebhookPlace
  /** The positions after the place that are confirmed, ascending; a few hundred at most. */
  readonly confirmed: readonly number[]
  /** Inserted, or replaced by position. */
  readonly waiting: readonly WaitingDelivery[]
  /** Positions that wait no longer. */
  readonly settled: readonly number[]
  readonly attempts: readonly WebhookAttempt[]
  /** Added to the counts of their minutes. */
  readonly minutes: readonly WebhookMinute[]
  readonly lastSuccessAt: number | null
  readonly failingSince: number | null
  readonly nextTryAt: number | null
  /** Pauses the endpoint: it answered 410. */
  readonly gone: boolean
}

export interface HeldWebhook {
  readonly id: string
  readonly version: number
  readonly epoch: number
  readonly paused: boolean
}

export interface LoadedWebhook {
  readonly webhook: Webhook
  readonly confirmed: readonly number[]
  /** Ascending by position, without those set aside. The delivery is null if it was purged. */
  readonly waiting: readonly (WaitingDelivery & { readonly delivery: DeliverySummary | null })[]
}

/**
 * Endpoints to which deliveries are pushed, and how far each has come. One process at a time holds an endpoint by a lease; times of
 * leases are those of the database, because clocks of replicas differ.
 */
export interface WebhookStore {
  add(webhook: NewWebhook): Promise<void>
  /** Oldest first. */
  list(): Promise<Webhook[]>
  find(id: string): Promise<Webhook | undefined>
  /** Raises the version. Resolves to undefined if there is no such endpoint. */
  change(id: string, change: WebhookChange): Promise<Webhook | undefined>
  /** Removes the endpoint with all that is known of it. Resolves to whether there was one. */
  remove(id: string): Promise<boolean>
  /** Pauses the endpoints that are not paused: all, or those of one customer. Resolves to their number. */
  pauseAll(reason: WebhookPause, at: number, customerId?: string): Promise<number>

  /** Takes leases on at most `most` endpoints that are not paused and that nobody holds. Resolves to their ids. */
  claim(holder: string, leaseMilliseconds: number, most: number): Promise<string[]>
  /** Renews the leases of the holder that have not ended, those on paused endpoints included. Resolves to what it holds. */
  renew(holder: string, leaseMilliseconds: number): Promise<HeldWebhook[]>
  /** Ends leases of the holder: on these endpoints, or on all. */
  release(holder: string, ids?: readonly string[]): Promise<void>
  load(id: string): Promise<LoadedWebhook | undefined>
  /**
   * Stores progress, all or nothing for each endpoint. Resolves to the ids of the endpoints whose progress was stored: those that the
   * holder still holds, with the epoch it works with. Also deletes attempts and minutes older than a day, and all but the newest 500
   * attempts of an endpoint.
   */
  save(holder: string, saves: readonly WebhookSave[], now: number): Promise<string[]>

  /** Deliveries that failed at least once or are set aside, ascending by position; those set aside first. */
  failing(id: string, most: number): Promise<(WaitingDelivery & { readonly receiptId: string | null })[]>
  /**
   * Sends again now, whether confirmed before or not: the delivery at a position, or everything that is set aside. It waits then, as if
   * it had never failed, also where it lies after the place. Raises the version. Resolves to the number of deliveries; undefined if
   * there is no such endpoint.
   */
  replay(id: string, what: { readonly position: number } | 'set-aside', now: number): Promise<number | undefined>
  /** The newest first. Answers to deliveries of erased customers are not kept, nor to those that were purged before the attempt was saved. */
  attempts(id: string, most: number): Promise<WebhookAttempt[]>
  recordAttempt(id: string, attempt: WebhookAttempt): Promise<void>
  /** Minutes from `from` on, oldest first, without those that had no attempt. */
  minutes(id: string, from: number): Promise<WebhookMinute[]>
  /** Replaces sealed secrets, and raises the versions. Makes all changes or none; resolves to false if a text is no longer `from`. */
  rewrap(changes: readonly SecretRewrap[]): Promise<boolean>
}

export interface SecretRewrap {
  readonly id: string
  readonly which: 'secret' | 'formerSecret'
  readonly from: string
  readonly to: string
}
