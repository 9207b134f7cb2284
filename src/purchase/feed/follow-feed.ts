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
  /** When the token expires, in milliseconds since 1970. */
  readonly expiresAt: number
  readonly clock: Clock
  readonly onFailed: (error: unknown) => void
  /** Called for each page when its events are on their way. */
  readonly onSent: (page: FeedPage) => void
}

/** A revocation must take effect within one second; this is half of it. */
const CHECK_EVERY_MILLISECONDS = 500
const LONGEST_TIMER = 2 ** 31 - 1

/** Sends deliveries until the follower leaves or its token expires. */
export async function followFeed<Event>(options: FollowOptions<Event>): Promise<void> {
  const { feed, query, follower, eventsOf, checkAccess, expiresAt, clock, onFailed, onSent } = options
  const lifetime = Math.min(Math.max(expiresAt - clock.now(), 0), LONGEST_TIMER)
  const until = AbortSignal.any([follower.gone, AbortSignal.timeout(lifetime)])
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
