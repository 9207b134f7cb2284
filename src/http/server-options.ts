import type { Server } from 'node:http'
import { type FastifyBaseLogger, type FastifyHttpOptions, LogController } from 'fastify'
import type { Config } from '#src/config/load-config.ts'
import type { Certificate } from '#src/lib/certificate.ts'
import { answerBrokenRequest } from './connections/broken-request.ts'
import { answerFrameworkError } from './error-handler.ts'
import { requestId, singleLeadingSlash } from './request-head.ts'
import type { RequestMetrics } from './request-log.ts'
import { secureContext } from './tls.ts'
import { schemaController } from './validation.ts'

/** How long the headers of a request may take. */
export const headersSeconds = ({ requestTimeoutSeconds }: Config): number => Math.min(10, requestTimeoutSeconds)

/** The options of the server, in tests too. Fastify's defaults wait forever. */
export const serverOptions = (
  config: Config,
  logger: FastifyBaseLogger,
  certificate: Certificate | null,
  requests: RequestMetrics,
) => {
  const headersTimeout = headersSeconds(config) * 1000
  const limits = {
    maxHeaderSize: 16_384,
    headersTimeout,
    connectionsCheckingInterval: 2_000,
    // Overrides NODE_OPTIONS.
    insecureHTTPParser: false,
    // request-head.ts checks it and sends a refusal with a body.
    requireHostHeader: false,
  }
  const options = {
    // request-log.ts writes one line per request; http.plugin.ts provides the logger.
    logController: new LogController({ disableRequestLogging: true }),
    requestIdHeader: false,
    // A busy machine may take longer than Fastify's 10 s to open the signing keys. Whoever starts the server has a limit of its own.
    pluginTimeout: 0,
    genReqId: requestId,
    trustProxy: config.trustProxy === 'off' ? false : config.trustProxy,
    bodyLimit: config.bodyLimitBytes,
    rewriteUrl: singleLeadingSlash,
    // Percent-encoded order ids are long; maxHeaderSize limits them.
    routerOptions: { caseSensitive: false, ignoreTrailingSlash: true, maxParamLength: 16_384 },
    schemaController,
    requestTimeout: config.requestTimeoutSeconds * 1000,
    keepAliveTimeout: 65_000,
    ...(certificate === null
      ? { http: limits }
      : { https: { ...limits, ...secureContext(certificate), handshakeTimeout: headersTimeout } }),
    // Requests on kept connections are answered while the server drains, not refused in Fastify's own shape.
    return503OnClosing: false,
    frameworkErrors: answerFrameworkError(requests),
    clientErrorHandler: answerBrokenRequest(logger, requests),
  }
  // The types do not say that a TLS server is an HTTP server too.
  return options as FastifyHttpOptions<Server>
}
