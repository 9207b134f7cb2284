import type { Clock } from '#src/lib/clock.ts'
import { FEW_PAYLOAD_BYTES, type Feed, type FeedPage, type FeedQuery, pageBytes } from './feed.rule.ts'

/** A client that gets events as they come. */
export interface Follower<Event> {
  /** Reserves memory for events of that many bytes; returns false if there is none. */
  tryReserve(bytes: number): boolean
  /** Resolves when it has reserved that many bytes, or the follower is gone. */
  reserve(bytes: number): Promise<void>
  /** Resolves when the follower can take more; to false when it is gone. */
  send(events: readonly Event[]): Promise<boolean>
  readonly gone: AbortSignal
  end(): void
}

export interface FollowOptions<Event> {
  readonly feed: Feed
  readonly query: FeedQuery
  readonly follower: Follower<Event>
  readonly eventsOf: (page: FeedPage) => Promise<readonly Event[]>
  /** Throws when the token is no longer valid. */
  readonly checkAccess: () => Promise<unknown>
  /** Aborts some time after the token is no longer valid, also while there is nothing to send. */
  readonly accessEnded: AbortSignal
  readonly clock: Clock
  readonly onFailed: (error: unknown) => void
  /** Called for each page when its events are on their way. */
  readonly onSent: (page: FeedPage) => void
}

/** A revocation must take effect within one second; this is half of it. */
const CHECK_EVERY_MILLISECONDS = 500

/** Sends deliveries until the follower leaves or its token ends. */
export async function followFeed<Event>(options: FollowOptions<Event>): Promise<void> {
  const { feed, query, follower, eventsOf, checkAccess, accessEnded, clock, onFailed, onSent } = options
  const until = AbortSignal.any([follower.gone, accessEnded])
  let checkedAt = clock.monotonic()
  let { after } = query

  /** Sends what is new. What was read is forgotten before it is sent, and where no memory is left for it: many followers may wait. */
  const sendNew = async (): Promise<{ readonly wanted: number } | { readonly sent: Promise<boolean> }> => {
    const page = await feed.readOrWait({ ...query, after, maxPayloadBytes: FEW_PAYLOAD_BYTES }, until)
    const bytes = pageBytes(page)
    if (!follower.tryReserve(bytes)) return { wanted: Math.max(bytes, FEW_PAYLOAD_BYTES) }
    after = page.place
    if (page.items.length === 0) return { sent: Promise.resolve(true) }
    if (clock.monotonic() - checkedAt >= CHECK_EVERY_MILLISECONDS) {
      await checkAccess()
      checkedAt = clock.monotonic()
    }
    const sent = follower.send(await eventsOf(page))
    onSent(page)
    return { sent }
  }

  try {
    while (!until.aborted) {
      const step = await sendNew()
      if ('wanted' in step) await follower.reserve(step.wanted)
      else if (!(await step.sent)) break
    }
  } catch (error) {
    onFailed(error)
  }
  follower.end()
}
