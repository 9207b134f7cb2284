import type { FastifyBaseLogger, FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError, type Countable, type ErrorDefinition, type ErrorKind, type Problem } from '#src/lib/app-error.ts'
import { textOf } from '#src/lib/messages/message.ts'
import { invalidRequest } from '#src/lib/request/invalid-request.ts'
import { commonHeaders, failure, JSON_TYPE, jsonLine } from './envelope.ts'
import { httpErrors } from './http.errors.ts'
import { validationProblems } from './validation.ts'

/** The HTTP status for each kind of error. */
export const STATUS: Record<ErrorKind, number> = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  missing: 404,
  method: 405,
  timeout: 408,
  conflict: 409,
  gone: 410,
  'too-large': 413,
  unsupported: 415,
  unprocessable: 422,
  throttled: 429,
  'headers-too-large': 431,
  internal: 500,
  unavailable: 503,
  overloaded: 503,
}

/** `part` is the refused part of a request that has several. */
type RefusalListener = (request: FastifyRequest, error: AppError, part?: Buffer) => void

declare module 'fastify' {
  interface FastifyRequest {
    /** Whether refusals say codes beside their messages, for the console. */
    takesCodes: boolean
  }
  interface FastifyInstance {
    /** Calls the listener for every refused request, before the answer is sent. */
    onRefusal(listener: RefusalListener): void
    /** Calls these listeners for a part of a request that was refused. Returns the refusal, made from any error. */
    notePartRefused(request: FastifyRequest, error: unknown, part: Buffer | undefined): AppError
  }
}

export function installErrorHandler(app: FastifyInstance): void {
  const listeners: RefusalListener[] = []
  app.decorateRequest('takesCodes', false)
  app.decorate('onRefusal', (listener) => void listeners.push(listener))
  const noteOverload = createOverloadLog(app.log)
  listeners.push((_request, { kind, code }) => {
    if (kind === 'overloaded') noteOverload(code)
  })
  app.decorate('notePartRefused', (request, thrown, part) => {
    const error = thrown instanceof AppError ? thrown : fromFramework(thrown as FastifyError)
    noteRefusal(request, error, thrown, listeners, part)
    return error
  })
  app.setErrorHandler((error: FastifyError, request, reply) => answerError(error, request, reply, listeners))
}

/** Counts what reaches no route. */
export interface AnswerCounts {
  answered(route: undefined, method: string, status: number): void
  refused(action: undefined, refusal: Countable): void
}

/** Answers what Fastify refuses before it finds a route: an address that cannot be decoded. No hook has run. */
export const answerFrameworkError =
  (requests: AnswerCounts) =>
  (error: FastifyError, request: FastifyRequest, reply: FastifyReply): void => {
    reply.headers({ ...commonHeaders(request.id), connection: 'close' })
    answerError(error, request, reply, [
      (_request, error) => {
        requests.answered(undefined, request.method, STATUS[error.kind])
        requests.refused(undefined, error)
      },
    ])
  }

function answerError(
  thrown: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
  listeners: readonly RefusalListener[] = [],
): FastifyReply {
  const error = thrown instanceof AppError ? thrown : fromFramework(thrown)
  const { problems = problemOf(request, error), retryAfterSeconds, reason, customerId } = error.details
  const status = STATUS[error.kind]
  request.errorCode = error.code
  request.refusal = reason === undefined ? null : textOf(reason)
  if (customerId !== undefined) request.customerId = customerId
  noteRefusal(request, error, thrown, listeners)
  const retryAfter = retryAfterSeconds ?? (status === 503 ? 1 : undefined)
  if (retryAfter !== undefined) reply.header('retry-after', String(retryAfter))
  if (status === 401) reply.header('www-authenticate', challengeOf(error.code))
  // Fastify has no serializer of its own for what reached no route.
  return reply
    .code(status)
    .type(JSON_TYPE)
    .serializer(jsonLine)
    .send(failure(error, request.id, problems, request.takesCodes))
}

/** What is wrong, where the route says which place an error is about. */
function problemOf({ routeOptions }: FastifyRequest, { code, text }: AppError): Problem[] | undefined {
  const path = routeOptions.schema?.errors?.find((definition) => definition.code === code)?.path
  return path === undefined ? undefined : [{ path, message: text }]
}

function noteRefusal(
  request: FastifyRequest,
  error: AppError,
  thrown: unknown,
  listeners: readonly RefusalListener[],
  part?: Buffer,
): void {
  for (const listener of listeners) listener(request, error, part)
  // Other refusals are in the request's log line; service.plugin.ts logs when an outage begins and ends.
  if (error.kind === 'internal')
    request.log.error({ requestId: request.id, err: error.details.cause ?? thrown }, 'request failed')
}

/** The `WWW-Authenticate` header (RFC 9110, 11.6.1). A request without a token gets no `error` (RFC 6750, 3). */
function challengeOf(code: string): string {
  if (code.startsWith('API_KEY_')) return 'ApiKey realm="teslim"'
  const bearer = 'Bearer realm="teslim"'
  return code === httpErrors.tokenMissing.code ? bearer : `${bearer}, error="invalid_token"`
}

/** Gives Fastify's own refusals our shape; any other error is a defect of the service. */
function fromFramework(error: FastifyError): AppError {
  if (error.validation) return invalidRequest(validationProblems(error))
  const definition = FRAMEWORK_STATUS[error.statusCode ?? 500]
  return definition === undefined
    ? new AppError(httpErrors.internal, { cause: error })
    : new AppError(definition, { reason: error.code })
}

const FRAMEWORK_STATUS: Readonly<Record<number, ErrorDefinition | undefined>> = {
  400: httpErrors.badRequest,
  404: httpErrors.notFound,
  408: httpErrors.requestTimeout,
  413: httpErrors.bodyTooLarge,
  414: httpErrors.headersTooLarge,
  415: httpErrors.notJsonType,
}

const QUIET_MILLISECONDS = 1000

/** Logs one line when overload refusals begin and one when they end, not one a request. */
function createOverloadLog(log: FastifyBaseLogger): (errorCode: string) => void {
  let refused = 0
  let seen = 0

  const poll = (timer: NodeJS.Timeout): void => {
    if (refused > seen) {
      seen = refused
      return
    }
    clearInterval(timer)
    log.info({ refused }, 'keeping up again')
    refused = 0
    seen = 0
  }

  return (errorCode) => {
    refused++
    if (refused > 1) return
    log.warn({ errorCode }, 'overloaded: excess requests get 503')
    const timer = setInterval(() => poll(timer), QUIET_MILLISECONDS).unref()
  }
}
