import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import { customerErrors } from '#src/customer/customer.errors.ts'
import { prefersEvents } from '#src/http/answers/accept.ts'
import { keepUncompressed } from '#src/http/answers/read-answers.ts'
import { answerRaw, success, successSchema } from '#src/http/envelope.ts'
import { createEventStreams } from '#src/http/event-streams.ts'
import type { PluginWith } from '#src/http/parts.ts'
import type { Clock } from '#src/lib/clock.ts'
import type { Metrics } from '#src/lib/metrics.ts'
import { createFeedPlaces } from '../feed-place.ts'
import { purchaseErrors } from '../purchase.errors.ts'
import { createArrivals } from './arrivals.ts'
import {
  createFeed,
  createFeedText,
  type FeedPage,
  type FeedQuery,
  pageBytes,
  payloadBytesWithin,
  scopeOf,
} from './feed.rule.ts'
import { DEFAULT_FEED_LIMIT, EventsSchema, FeedHeadersSchema, FeedQuerySchema, FeedSchema } from './feed.schema.ts'
import { followFeed } from './follow-feed.ts'
import { createFollowers } from './followers.ts'

/** A token whose request takes longer is asked about again before the answer. */
const ASK_AGAIN_MILLISECONDS = 500

const plugin: PluginWith<'store' | 'clock' | 'metrics'> = async (app, { store, clock, metrics }) => {
  const { deliveries, purges, customers } = store
  const followers = createFollowers(clock)
  const counted = createFeedMetrics(metrics, clock, followers.count)
  const arrivals = createArrivals(deliveries, (error) =>
    app.log.warn({ err: error }, 'new deliveries could not be looked up for the feed'),
  )
  const places = createFeedPlaces({ deliveries, purges, cursors: app.cursors })
  const feed = createFeed(deliveries, places, arrivals)
  const text = createFeedText(places)
  const streams = createEventStreams(app.bodyBudget.answers)
  const closing = new AbortController()

  app.addHook('preClose', async () => {
    closing.abort()
    streams.close()
    arrivals.close()
  })

  /** Counts a follower and watches its token until `over` is called. `end` ends a stream. */
  const follow = (access: FastifyRequest['access'], end?: () => void) => {
    const leave = followers.join(access.customer.id, end)
    const { ended, forget } = app.accessWatch.watch(access)
    return {
      ended,
      over() {
        forget()
        leave()
      },
    }
  }

  const schema = {
    summary: 'Deliveries in the order of their commits',
    operationId: 'purchaseFeed',
    tags: ['Purchase'],
    errors: [
      purchaseErrors.cursorInvalid,
      purchaseErrors.cursorPurged,
      purchaseErrors.deliveriesLost,
      customerErrors.notFound,
    ],
    description:
      'Without gaps and repeats, at any replica. With `Accept: text/event-stream` deliveries come as server-sent events as they are committed: the id of each event is its cursor, and `Last-Event-ID` resumes after it. When the token expires or is revoked, the stream ends, and a request that waits is a 401. One customer may have 64 streams and waiting requests at a server: a further one is a 503, or ends the oldest stream, if that has been open for a minute.',
    alsoAnswers: { 200: { 'text/event-stream': { schema: EventsSchema } } },
    headers: FeedHeadersSchema,
    querystring: FeedQuerySchema,
    response: { 200: successSchema(FeedSchema, 'What is new') },
  }

  const routes: FastifyPluginAsyncTypebox = async (app) => {
    app.get('/Purchase/feed', {
      schema,
      handler: async (request, reply) => {
        const { limit = DEFAULT_FEED_LIMIT, wait = 0, payload, customer, after } = request.query
        const { access, caller, startedAt } = request
        const asked = request as unknown as FastifyRequest
        const scope = await scopeOf(caller, customer, customers)
        const cursor = (request.headers['last-event-id'] as string | undefined) || after
        const query: FeedQuery = {
          scope,
          after: cursor === undefined ? undefined : await places.placeOf(scope, cursor),
          limit,
          withPayload: payload !== 'none',
          maxPayloadBytes: payloadBytesWithin(app.availableForAnswer(asked)),
        }
        if (prefersEvents(request.headers.accept)) {
          // A stream that has begun cannot be refused.
          if (query.after) await feed.check(query.after, scope)
          const { ended, over } = follow(access, () => follower.end())
          const follower = streams.open(reply)
          void followFeed({
            feed,
            query,
            follower,
            eventsOf: (page) => text.events(page, scope),
            checkAccess: access.again,
            accessEnded: ended,
            clock,
            onFailed: (error) => app.log.warn({ requestId: request.id, err: error }, 'a stream of the feed ended'),
            onSent: counted.sent,
          }).finally(over)
          return reply
        }
        const readOrWait = async () => {
          const { ended, over } = follow(access)
          // The signal of a request says nothing about a client that left before it was asked for.
          const gone = reply.raw.destroyed ? AbortSignal.abort() : request.signal
          const until = AbortSignal.any([AbortSignal.timeout(wait * 1000), gone, closing.signal, ended])
          const page = await feed.readOrWait(query, until).finally(over)
          ended.throwIfAborted()
          if (clock.monotonic() - startedAt > ASK_AGAIN_MILLISECONDS) await access.again()
          return page
        }
        const page = await (wait === 0 ? feed.read(query) : readOrWait())
        app.reserveAnswer(asked, pageBytes(page))
        counted.sent(page)
        answerRaw(reply)
        if (scope === null) keepUncompressed(reply)
        return success(await text.answer(page, scope))
      },
    })
  }
  app.register(app.needs('payloads')(routes))
}

/** Seconds, from what nobody notices to a day. */
const LAGS = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 900, 3600, 21_600, 86_400]

function createFeedMetrics(metrics: Metrics, clock: Clock, followers: () => number) {
  const help = 'Open event streams and requests that wait for deliveries.'
  metrics.gauge('teslim_feed_followers', help, followers)
  const lag = metrics.histogram(
    'teslim_feed_lag_seconds',
    'Age of the last delivery in each page that a follower got.',
    LAGS,
  )({})
  return {
    sent({ items }: FeedPage): void {
      const last = items.at(-1)?.delivery
      if (last !== undefined) lag.observe(Math.max(0, clock.now() - last.receivedAt) / 1000)
    },
  }
}

export const feedPlugin = fastifyPlugin(plugin, {
  name: 'feed',
  dependencies: ['token', 'purchase'],
  encapsulate: true,
})
