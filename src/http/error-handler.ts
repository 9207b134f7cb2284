import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyBaseLogger, FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { AppError, type ErrorDefinition, type ErrorKind, type Problem } from '#src/lib/app-error.ts'
import { httpErrors } from './http.errors.ts'
import { requestId } from './request-id.ts'
import { commonHeaders } from './response-headers.ts'

/** The one place where the kind of an error becomes a status. */
export const STATUS: Record<ErrorKind, number> = {
  invalid: 400,
  unauthenticated: 401,
  forbidden: 403,
  missing: 404,
  method: 405,
  timeout: 408,
  conflict: 409,
  'too-large': 413,
  unsupported: 415,
  unprocessable: 422,
  'headers-too-large': 431,
  internal: 500,
  unavailable: 503,
}

export function installErrorHandler(app: FastifyInstance): void {
  app.setErrorHandler((error: FastifyError, request, reply) => answerError(error, request, reply))
}

/** For what Fastify refuses before a route is found, such as an address that cannot be decoded. No hook has run. */
export function answerFrameworkError(error: FastifyError, request: FastifyRequest, reply: FastifyReply): void {
  reply.headers(commonHeaders(request.id))
  answerError(error, request, reply)
}

function answerError(thrown: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const error = thrown instanceof AppError ? thrown : fromFramework(thrown)
  const { problems, headers, reason, customerId, cause } = error.details
  const status = STATUS[error.kind]
  request.errorCode = error.code
  request.refusal = reason ?? null
  if (customerId !== undefined) request.customerId = customerId
  if (status >= 500) request.log.error({ requestId: request.id, err: cause ?? thrown }, 'request failed')
  if (status === 503) reply.header('retry-after', '1')
  if (error.challenge !== undefined) reply.header('www-authenticate', error.challenge)
  return reply
    .code(status)
    .headers(headers ?? {})
    .send(failure(error, request.id, problems))
}

const failure = (error: { code: string; message: string }, id: string, problems?: readonly Problem[]) => ({
  data: null,
  success: false,
  message: error.message,
  errorCode: error.code,
  requestId: id,
  ...(problems && { errors: problems }),
})

/** Fastify's own refusals keep their meaning and lose their shape; whatever is not a refusal is a defect of ours. */
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

const MOST_PROBLEMS = 20

export function invalidRequest(problems: readonly Problem[]): AppError {
  const summary = problems.slice(0, 3).map(({ path, message }) => `${path || 'the body'} ${message}`)
  return new AppError(httpErrors.invalidRequest, {
    message: `The request is not valid: ${summary.join('; ')}.`,
    problems: problems.slice(0, MOST_PROBLEMS),
  })
}

const validationProblems = ({ validation = [], validationContext = 'body' }: FastifyError): Problem[] =>
  validation.map(({ instancePath, keyword, params, message = 'is not valid' }) => {
    const path = (validationContext === 'body' ? '' : validationContext) + instancePath
    if (keyword === 'required') return { path: `${path}/${params.missingProperty}`, message: 'is required' }
    return { path, message: WORDS[keyword]?.(params) ?? message }
  })

/** In words for people where the validator's own are for programmers. */
const WORDS: Readonly<Record<string, ((params: Record<string, unknown>) => string) | undefined>> = {
  type: ({ type }) => `must be ${[type].flat().join(' or ')}`,
  minLength: ({ limit }) => (limit === 1 ? 'must not be empty' : `must have at least ${limit} characters`),
  maxLength: ({ limit }) => `must have at most ${limit} characters`,
  pattern: () => 'is not of the form this field has',
}

const BROKEN: Readonly<Record<string, ErrorDefinition | undefined>> = {
  HPE_HEADER_OVERFLOW: httpErrors.headersTooLarge,
  ERR_HTTP_REQUEST_TIMEOUT: httpErrors.requestTimeout,
}

/** For bytes that Node's parser refuses: there is no request yet, so the answer is written by hand. */
export const answerBrokenRequest =
  (logger: FastifyBaseLogger) =>
  (error: Error & { code?: string }, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || !socket.writable) {
      socket.destroy()
      return
    }
    const definition = BROKEN[error.code ?? ''] ?? httpErrors.badRequest
    const status = STATUS[definition.kind]
    const id = requestId({ headers: {} })
    const body = JSON.stringify(failure(definition, id))
    const headers = {
      ...commonHeaders(id),
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
      connection: 'close',
    }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`)
    logger.info(
      { requestId: id, status, errorCode: definition.code, reason: error.code, address: socket.remoteAddress },
      'broken request',
    )
  }
