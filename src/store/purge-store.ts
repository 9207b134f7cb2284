import type { Text } from '#src/lib/messages/message.ts'

/** What a purge removes: the deliveries received before a time that no order needs. */
export interface PurgeScope {
  /** Exclusive, in milliseconds since 1970. */
  readonly before: number
  /**
   * Whether orders whose latest delivery was received before then go, too. Otherwise every order keeps the delivery that made
   * its state, and its latest one.
   */
  readonly orders: boolean
  /**
   * Whether deliveries go that a webhook endpoint has not taken. Otherwise those stay that are a waiting row of an endpoint, or that it
   * wants and has not confirmed after its position, and so do their orders; but not for one that is paused for more than 30 days.
   */
  readonly unsent: boolean
  readonly now: number
}

export interface PurgePage extends PurgeScope {
  /** Scans deliveries after this position, */
  readonly after: number
  /** up to this one, */
  readonly until: number
  /** and at most this many. */
  readonly scan: number
  /** Counts, but removes nothing. */
  readonly dryRun: boolean
}

export interface PurgedPage {
  readonly deliveries: number
  readonly orders: number
  readonly payloadBytes: number
  readonly webhooks: readonly UnsentCount[]
  /** Where to continue; null at the end. */
  readonly position: number | null
}

/** Deliveries of a purge that an endpoint has not taken. */
export interface UnsentCount {
  readonly id: string
  /** They stay for it, */
  readonly kept: number
  /** and this is the greatest of their positions. */
  readonly last: number
  /** They are counted in `removedUnsent` of the endpoint, too. */
  readonly removed: number
}

/** What tells a follower whether deliveries after its cursor were removed, or some that it has read were lost. */
export interface PurgeState {
  /** Increases with every purge, before it removes anything. */
  readonly generation: number
  /** The greatest position of a delivery that was removed. It changes together with the removal. */
  readonly position: number
  /** No purge was ever going to remove a delivery after this position. */
  readonly announced: number
  /** Set for a place that lies among positions that no delivery has, because a failover or a recovery lost those that had them. */
  readonly lost: LostDeliveries | null
}

interface LostDeliveries {
  /** When the first batch after the loss was stored, in milliseconds since 1970; null if none has been. */
  readonly at: number | null
  /** Of the last delivery before the place that is left, or that a purge removed since; 0 if nobody knows which one that is. */
  readonly lastPosition: number
}

/** Deliveries of one customer. */
export interface ErasureScope {
  readonly customerId: string
  readonly positions: readonly number[]
  /** Only those among them that one at this position echoes, that echo it, or that it is; null for all. */
  readonly sameAs: number | null
}

interface ErasedPage {
  readonly deliveries: number
  /** Where to continue; null at the end. */
  readonly position: number | null
}

/** The part of the port that removes deliveries, and gives their room back. */
export interface PurgeStore {
  /** With the place of a reader it says whether deliveries before that place were lost. */
  state(place?: number): Promise<PurgeState>
  /** Returns when the first delivery after a position was received, in milliseconds since 1970. */
  receivedAfter(position: number): Promise<number | undefined>
  /** Returns when the newest of the deliveries was received that were received before a time. */
  receivedBefore(time: number): Promise<number | undefined>
  /**
   * Returns the position that parts the deliveries received before a time from those received later, with the fewest exceptions;
   * 0 for none. It is before that of the last delivery.
   */
  endOf(before: number): Promise<number>
  /** Must come before the first page that removes something, with the last position that it may remove. */
  announce(position: number): Promise<void>
  /**
   * Must come before the first `erase` and after the last one, so that a copy of the store that was begun before is not continued after it.
   * Rejects with STORE_FORBIDDEN without the right.
   */
  announceErasure(): Promise<void>
  /**
   * Removes only what the hourly counts contain: while they do not reach `until`, it counts some deliveries instead, and resolves
   * to nothing removed and `after` as its position.
   */
  page(page: PurgePage): Promise<PurgedPage>
  /** Resolves to true for one process at a time, if the last purge that `finish` recorded was before `due`. */
  claim(times: { readonly now: number; readonly until: number; readonly due: number }): Promise<boolean>
  /** Resolves to false if the claim was lost to another process. */
  renew(from: number, until: number): Promise<boolean>
  /** Also records what it kept for webhook endpoints. */
  finish(before: number, webhooks: readonly UnsentCount[]): Promise<void>
  /** What the last purge that `finish` recorded kept for each endpoint that still has not taken all of it. */
  held(): Promise<Pick<UnsentCount, 'id' | 'kept'>[]>
  /** Gives a little of the unused room back to the file system, except a part of the whole. Resolves to whether there is more. */
  giveBack(keepPart: number): Promise<boolean>
  /** Rewrites the file so that its unused room can be given back. It shrinks when `wipeLog` has succeeded. */
  rewrite(): Promise<void>
  /** Makes what new deliveries need in the months ahead, and removes empty months that ended before a time. Resolves to their names. */
  keepMonths(before: number): Promise<{ readonly made: number; readonly dropped: readonly string[] }>
  /** Overwrites payloads and order ids of a customer among the next `look` deliveries. Digests of large payloads stay. */
  erase(customerId: string, after: number, look: number): Promise<ErasedPage>
  /**
   * Overwrites payloads and senders of some deliveries, and removes the attempts to push them. Order ids, idempotency keys and digests of
   * large payloads stay. Resolves to how many it has erased now.
   */
  eraseSome(scope: ErasureScope): Promise<number>
  /** Resolves to the positions of those that it would erase. */
  erasable(scope: ErasureScope): Promise<number[]>
  /**
   * Removes some of the states of a customer's orders, of its idempotency keys, and of the attempts to push its deliveries. Resolves to
   * whether there are more.
   */
  eraseNames(customerId: string): Promise<boolean>
  /**
   * Removes copies of deliveries that purges left behind in unused parts of pages, among the next `look` deliveries; at first also
   * copies of attempts to push them. Resolves to where to continue; null where no purge removed anything.
   */
  wipePages(after: number, look: number): Promise<number | null>
  /** Removes what was overwritten from the log, too. Resolves to why it cannot, if it cannot. */
  wipeLog(): Promise<Text | undefined>
}
