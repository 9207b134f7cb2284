import type { Clock } from '#src/lib/clock.ts'
import type { Metrics } from '#src/lib/metrics/metrics.ts'
import type { FeedPage } from './feed.rule.ts'

/** Seconds, from what nobody notices to a day. */
const LAGS = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3600, 21_600, 86_400]

export function createFeedMetrics(metrics: Metrics, clock: Clock) {
  let followers = 0
  const help = 'Open event streams and requests that wait for deliveries.'
  metrics.gauge('teslim_feed_followers', help, () => followers)
  const lag = metrics.histogram(
    'teslim_feed_lag_seconds',
    'Age of the last delivery in each page that a follower got.',
    LAGS,
  )({})
  return {
    /** Counts a follower until the function that it returns is called. */
    follower(): () => void {
      followers++
      return () => void followers--
    },
    sent({ items }: FeedPage): void {
      const last = items.at(-1)?.delivery
      if (last !== undefined) lag.observe(Math.max(0, clock.now() - last.receivedAt) / 1000)
    },
  }
}
