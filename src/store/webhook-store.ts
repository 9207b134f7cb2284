import type { NewWebhook, NewWebhookReplay, Webhook, WebhookChange, WebhookPause } from './webhook.ts'

/** A delivery with what keeps it in order: a digest of customer and order id, as laneOf. One of a lane is sent at a time. */
export interface Laned {
  readonly position: number
  readonly lane: number
}

/** No delivery is tried again later than that. One whose time lies further ahead is due: the clock was set back. */
export const MAX_PAUSE_MILLISECONDS = 3_600_000

/** A delivery that an endpoint has not taken. */
export interface WaitingDelivery extends Laned {
  /** Failed attempts; 0 if it only waits for an earlier delivery of its lane, or was never tried. */
  readonly failures: number
  readonly firstFailedAt: number | null
  /** When it is tried again. Only the first of a lane has this time, unless it is set aside. */
  readonly nextAt: number | null
  readonly setAsideAt: number | null
  /** Status code or reason of the last failure. */
  readonly lastError: string | null
  /** Whether the endpoint answered the last attempt. */
  readonly answered: boolean
}

/** Null where a purge has removed the delivery. */
export interface DueDelivery extends WaitingDelivery {
  readonly receiptId: string | null
  readonly receivedAt: number | null
}

export interface Confirmation {
  readonly position: number
  readonly status: number
  readonly milliseconds: number
}

/** Names a delivery for people; null where a purge or an erasure has removed it, and where it named no order. */
export interface NamedDelivery {
  readonly receiptId: string | null
  readonly orderId: string | null
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
  /** Every wanted delivery up to here is confirmed, waiting or set aside. */
  readonly position: number
  /** Since the last save, before or after the position. They are added to the journal. */
  readonly confirmed: readonly Confirmation[]
  /** Inserted. A row that is there already is replaced only by one that has failed. */
  readonly kept: readonly WaitingDelivery[]
  /** These wait no longer. */
  readonly settled: readonly Laned[]
  readonly attempts: readonly WebhookAttempt[]
  /** Added to the counts of their minutes. */
  readonly minutes: readonly WebhookMinute[]
  /** Null if there was none since the last save. */
  readonly lastSuccessAt: number | null
  /** When an endpoint that does not answer is tried next; null if it answers. */
  readonly silentUntil: number | null
  /** It answers again: what it did not answer is due within a second. */
  readonly hurry: boolean
  /** Pauses the endpoint, which answered 410 while it had this version, unless an operator has changed it since. */
  readonly gone: number | null
  /**
   * Set if some of it may be stored already, because the answer to a save was lost. If an operator has changed the endpoint since it had
   * this version, it is not stored: it might undo a replay.
   */
  readonly ifVersion: number | null
}

export interface HeldWebhook {
  readonly id: string
  readonly version: number
  readonly paused: boolean
  /** The holder had no lease on it before. */
  readonly isNew: boolean
}

export interface LoadedWebhook {
  readonly webhook: Webhook
  /** The positions after its position that are confirmed; a few hundred at most. */
  readonly confirmed: readonly number[]
}

/**
 * Endpoints to which deliveries are pushed, how far each has come, and what each has not taken. On PostgreSQL one process at a time holds
 * an endpoint by a lease, whose times are those of the database, because clocks of replicas differ. On SQLite the only server holds all.
 *
 * Whatever changes what waits gives the first delivery of each lane that it touches a time, if it has none: it is due at once.
 */
export interface WebhookStore {
  add(webhook: NewWebhook): Promise<void>
  /** Oldest first. */
  list(): Promise<Webhook[]>
  find(id: string): Promise<Webhook | undefined>
  /** Raises the version. Resolves to undefined if there is no such endpoint, or its headers are others by now. */
  change(id: string, change: WebhookChange): Promise<Webhook | undefined>
  /** Removes the endpoint with all that is known of it. Resolves to whether there was one. */
  remove(id: string): Promise<boolean>
  /** Pauses the endpoints that are not paused: all, or those of one customer. Resolves to their number. */
  pauseAll(reason: WebhookPause, at: number, customerId?: string): Promise<number>

  /** Whether there is any endpoint. Asks the store for less than `hold` does. */
  any(): Promise<boolean>
  /**
   * Renews the leases of the holder that have not ended, those on paused endpoints included, and takes at most `limit` more, on
   * endpoints that are not paused and that nobody holds. Resolves to all that it holds. On SQLite: to all that are not paused.
   */
  hold(holder: string, leaseMilliseconds: number, limit: number): Promise<HeldWebhook[]>
  /** Ends leases of the holder: on these endpoints, or on all. */
  release(holder: string, ids?: readonly string[]): Promise<void>
  /**
   * Must be called by who pushes, before it begins to: a filter that was changed is in force from then on. Resolves to undefined if there is
   * no such endpoint, or it was changed again meanwhile.
   */
  load(id: string): Promise<LoadedWebhook | undefined>
  /**
   * Stores progress, all or nothing for each endpoint. Resolves to the ids of the endpoints whose progress was stored: those that are
   * there and that the holder still holds. Keeps about the newest 500 attempts of an endpoint.
   */
  save(holder: string, saves: readonly WebhookSave[], now: number): Promise<string[]>
  /**
   * Deletes what is too old, of all endpoints: attempts and minutes after a day, and of journals what is older than 7 days or exceeds 64
   * MiB, but for what lies after the position of the endpoint.
   */
  tidy(now: number): Promise<void>
  /** The positions among these that cannot be sent before the store gives them, because they or others of their lane are kept there. */
  held(id: string, deliveries: readonly Laned[]): Promise<number[]>
  /**
   * The first deliveries of at most `lanes` lanes that are due, the one due longest first, each followed by some that wait behind it. Also
   * resolves to when the next lane is due; null if none is.
   */
  due(id: string, now: number, lanes: number): Promise<{ deliveries: DueDelivery[]; nextAt: number | null }>

  /**
   * Sets aside what waits and failed first at this time or before: the earliest 1,000. Resolves to how many; 0 without the lease, too.
   */
  giveUp(holder: string, id: string, before: number, now: number): Promise<number>

  /** At most `limit` that are set aside, ascending by position, and then at most as many that failed and wait, by their next try. */
  failing(id: string, limit: number): Promise<(WaitingDelivery & NamedDelivery)[]>
  /**
   * Returns when the oldest delivery that waits was received, without those that are set aside or were added by a replay; null if there is
   * none among the first `scan` rows.
   */
  oldestWaiting(id: string, scan: number): Promise<number | null>
  /**
   * Sends again now, whether confirmed before or not: deliveries at or before the position of the endpoint, or everything that is set
   * aside. They wait then, as if they had never failed; what failed and waits already is due at once. Raises the version. Resolves to the
   * number of deliveries; undefined if there is no such endpoint.
   */
  replay(id: string, what: readonly Laned[] | 'set-aside', now: number): Promise<number | undefined>
  /** Begins a replay unless there is one, which then stays as it is, or ends the one that there is. Raises the version. Resolves to undefined if there is no such endpoint. */
  setReplay(id: string, replay: NewWebhookReplay | null): Promise<Webhook | undefined>
  /**
   * Adds what a replay found up to a position, as `replay` does, and ends it there if that is its end. Resolves to how many of those that
   * replays have added wait now and were not tried; undefined if the endpoint, its lease or the replay that began then is no more.
   */
  addReplayed(holder: string, id: string, beganAt: number, page: ReplayedPage, now: number): Promise<number | undefined>
  /** What became of deliveries, by position. Those that are missing were confirmed longer ago than the journal goes back, or not wanted. */
  fates(id: string, deliveries: readonly number[]): Promise<Map<number, Fate>>
  /** The newest first. Answers to deliveries of erased customers are not kept, nor to those that were purged before the attempt was saved. */
  attempts(id: string, most: number): Promise<(WebhookAttempt & NamedDelivery)[]>
  recordAttempt(id: string, attempt: WebhookAttempt): Promise<void>
  /** Minutes from `from` on, oldest first, without those that had no attempt. */
  minutes(id: string, from: number): Promise<WebhookMinute[]>
  /** Replaces sealed secrets, and raises the versions. Makes all changes or none; resolves to false if a text is no longer `from`. */
  rewrap(changes: readonly SecretRewrap[]): Promise<boolean>
}

interface ReplayedPage {
  readonly deliveries: readonly Laned[]
  readonly position: number
}

export type Fate =
  | { readonly state: 'confirmed'; readonly at: number; readonly status: number; readonly milliseconds: number }
  | { readonly state: 'kept'; readonly delivery: WaitingDelivery }
  | { readonly state: 'unread' }

export interface SecretRewrap {
  readonly id: string
  readonly which: 'secret' | 'formerSecret' | 'headers'
  readonly from: string
  readonly to: string
}
