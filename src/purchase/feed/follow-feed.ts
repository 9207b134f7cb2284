import type { Clock } from '#src/lib/clock.ts'
import type { Feed, FeedPage, FeedQuery } from './feed.rule.ts'

/** Who gets events as they come. */
export interface Follower<Event> {
  /** Resolves when there is room for more; to false when there is nobody any more. */
  send(events: readonly Event[]): Promise<boolean>
  readonly gone: AbortSignal
  end(): void
}

export interface FollowOptions<Event> {
  readonly feed: Feed
  readonly query: FeedQuery
  readonly follower: Follower<Event>
  readonly eventsOf: (page: FeedPage) => Promise<readonly Event[]>
  /** Throws when the token is no longer good. */
  readonly checkAccess: () => Promise<unknown>
  /** Of the token, in milliseconds since 1970. */
  readonly expiresAt: number
  readonly clock: Clock
  readonly onFailed: (error: unknown) => void
}

/** Half of the second within which a revocation must be seen. */
const CHECK_EVERY_MILLISECONDS = 500
const LONGEST_TIMER = 2 ** 31 - 1

/** Sends what comes until the follower goes or its token ends. */
export async function followFeed<Event>(options: FollowOptions<Event>): Promise<void> {
  const { feed, query, follower, eventsOf, checkAccess, expiresAt, clock, onFailed } = options
  const lifetime = Math.min(Math.max(expiresAt - clock.now(), 0), LONGEST_TIMER)
  const until = AbortSignal.any([follower.gone, AbortSignal.timeout(lifetime)])
  let checkedAt = clock.monotonic()
  let { after } = query
  try {
    while (!until.aborted) {
      const page = await feed.readOrWait({ ...query, after }, until)
      after = page.position
      if (page.items.length === 0) continue
      if (clock.monotonic() - checkedAt >= CHECK_EVERY_MILLISECONDS) {
        await checkAccess()
        checkedAt = clock.monotonic()
      }
      if (!(await follower.send(await eventsOf(page)))) break
    }
  } catch (error) {
    onFailed(error)
  }
  follower.end()
}
