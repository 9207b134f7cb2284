import type { FastifyBaseLogger, FastifyInstance, FastifyPluginAsync } from 'fastify'
import fastifyPlugin from 'fastify-plugin'
import type { Config } from '#src/config/load-config.ts'
import type { AppError } from '#src/lib/app-error.ts'
import type { Certificate } from '#src/lib/certificate.ts'
import type { Clock } from '#src/lib/clock.ts'
import type { Store } from '#src/store/store.ts'
import { installReadAnswers } from './answers/read-answers.ts'
import { installBodyReading } from './body/reader.ts'
import { answerConnect } from './connections/broken-request.ts'
import { installDraining } from './connections/draining.ts'
import { cutUnread } from './connections/unread.ts'
import { jsonLine } from './envelope.ts'
import { installErrorHandler } from './error-handler.ts'
import { installKnownRoutes } from './known-routes.ts'
import { installReadiness } from './readiness.ts'
import { installRequestHooks } from './request-head.ts'
import { installRequestLog, type RequestMetrics } from './request-log.ts'
import { installTls } from './tls.ts'
import { installQueryReading } from './validation.ts'

export interface HttpOptions {
  readonly config: Config
  readonly store: Pick<Store, 'ping'>
  /** What requests get while there is no store; undefined if there is one. */
  readonly missing?: AppError | undefined
  /** Null if TLS is off. */
  readonly certificate: Certificate | null
  readonly clock: Clock
  readonly requests: RequestMetrics
  readonly logger: FastifyBaseLogger
  /** Receives the log line of each request, as JSON. */
  readonly writeInfo: (line: string) => void
  readonly traces?: { install(app: FastifyInstance): void } | undefined
}

/** What every request passes. Hooks run in the order in which they are installed here. */
const plugin: FastifyPluginAsync<HttpOptions> = async (app, options) => {
  const { config, store, missing, certificate, clock, requests, logger, writeInfo, traces } = options
  connectLogger(app, logger)

  installTls(app, config, clock, certificate)
  // Ends TLS handshakes, too.
  installDraining(app, config, clock)

  app.setReplySerializer(jsonLine)
  installErrorHandler(app)
  // Gives each request the fields that a refusal or a trace adds to its log line.
  installRequestLog(app, clock, requests, writeInfo)
  traces?.install(app)
  // Pages of other origins may read refusals, too.
  const { hideFromOthers } = installKnownRoutes(app, config)
  const { isOverloaded } = installRequestHooks(app, config, clock)
  app.server.on('connect', answerConnect(app.log, requests))
  installReadiness(app, store, missing)

  installQueryReading(app)
  installBodyReading(app, config, clock)
  // What clients do not read shares memory with what they send.
  installReadAnswers(app, isOverloaded)
  const patienceMilliseconds = config.requestTimeoutSeconds * 1000
  cutUnread(app, clock, patienceMilliseconds, app.bodyBudget.answers.limit)
  hideFromOthers()
}

const LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const

/**
 * Makes Fastify's silent default logger write to ours. If Fastify were given ours, it would make and check a child logger for each
 * request, and listen for the end of each answer.
 */
function connectLogger(app: FastifyInstance, logger: FastifyBaseLogger): void {
  for (const level of LEVELS) app.log[level] = logger[level].bind(logger)
}

export const httpPlugin = fastifyPlugin(plugin, { name: 'http' })
