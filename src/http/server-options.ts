import type { Server } from 'node:http'
import { type FastifyBaseLogger, type FastifyHttpOptions, LogController } from 'fastify'
import type { Config } from '#src/config/load-config.ts'
import { answerBrokenRequest } from './connections/broken-request.ts'
import { answerFrameworkError } from './error-handler.ts'
import { singleLeadingSlash } from './leading-slashes.ts'
import { requestId } from './request-id.ts'
import type { Certificate } from './tls/certificate.ts'
import { secureContext } from './tls/tls.ts'

/** Every option of the server, the tests' included. Fastify's defaults coerce, drop fields and wait for ever. */
export const serverOptions = (config: Config, logger: FastifyBaseLogger, certificate: Certificate | null) => {
  const headersTimeout = Math.min(10, config.requestTimeoutSeconds) * 1000
  const limits = {
    maxHeaderSize: 16_384,
    headersTimeout,
    connectionsCheckingInterval: 2_000,
    // Whatever NODE_OPTIONS say.
    insecureHTTPParser: false,
    // Counted in request-hooks.ts, where the refusal gets a body.
    requireHostHeader: false,
  }
  const options = {
    // One line a request is written by request-log.ts. The logger itself comes by logger-loan.ts.
    logController: new LogController({ disableRequestLogging: true }),
    requestIdHeader: false,
    genReqId: requestId,
    trustProxy: config.trustProxy === 'off' ? false : config.trustProxy,
    bodyLimit: config.bodyLimitBytes,
    rewriteUrl: singleLeadingSlash,
    // Order ids are long when they are percent-encoded; maxHeaderSize is the limit of them all.
    routerOptions: { caseSensitive: false, ignoreTrailingSlash: true, maxParamLength: 16_384 },
    ajv: {
      customOptions: {
        coerceTypes: false,
        removeAdditional: false,
        useDefaults: false,
        allErrors: true,
        allowUnionTypes: true,
        // Errors carry their schemas; validation-problems.ts makes sentences of them.
        verbose: true,
      },
    },
    requestTimeout: config.requestTimeoutSeconds * 1000,
    keepAliveTimeout: 65_000,
    ...(certificate === null
      ? { http: limits }
      : { https: { ...limits, ...secureContext(certificate), handshakeTimeout: headersTimeout } }),
    // What arrives on a kept connection while the server drains is answered, not turned away in Fastify's own shape.
    return503OnClosing: false,
    frameworkErrors: answerFrameworkError,
    clientErrorHandler: answerBrokenRequest(logger),
  }
  // A server with TLS is one of HTTP too, which the types do not say.
  return options as FastifyHttpOptions<Server>
}
