import type { Clock } from '#src/lib/clock.ts'
import type { Feed, FeedPage, FeedQuery } from './feed.rule.ts'

/** A client that gets events as they come. */
export interface Follower<Event> {
  /** Resolves when there is room for more; to false when the follower is gone. */
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
  try {
    while (!until.aborted) {
      const page = await feed.readOrWait({ ...query, after }, until)
      after = page.place
      if (page.items.length === 0) continue
      if (clock.monotonic() - checkedAt >= CHECK_EVERY_MILLISECONDS) {
        await checkAccess()
        checkedAt = clock.monotonic()
      }
      if (!(await follower.send(await eventsOf(page)))) break
      onSent(page)
    }
  } catch (error) {
    onFailed(error)
  }
  follower.end()
}
