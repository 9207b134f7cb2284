import type { ErrorDefinition } from '#src/lib/app-error.ts'
import { requestErrors } from '#src/lib/request/request.errors.ts'

export const httpErrors = {
  badRequest: { code: 'BAD_REQUEST', kind: 'invalid', message: 'The request is not valid HTTP.' },
  hostCount: { code: 'HOST_COUNT', kind: 'invalid', message: 'The request must carry exactly one Host header.' },
  hostMalformed: { code: 'HOST_MALFORMED', kind: 'invalid', message: 'The Host header is not a host name or address.' },
  httpVersion: {
    code: 'HTTP_VERSION_NOT_SUPPORTED',
    kind: 'invalid',
    message: 'The request must be HTTP/1.1 or HTTP/1.0.',
  },
  transferEncoding: {
    code: 'UNSUPPORTED_TRANSFER_ENCODING',
    kind: 'invalid',
    message: 'The Transfer-Encoding header may only be chunked, and only in HTTP/1.1.',
  },
  noTunnel: { code: 'METHOD_NOT_ALLOWED', kind: 'method', message: 'This is not a proxy: CONNECT is not allowed.' },
  ...requestErrors,
  tokenMissing: {
    code: 'TOKEN_MISSING',
    kind: 'unauthenticated',
    message: 'A bearer token is needed: log in and send it as Authorization: Bearer TOKEN.',
  },
  notBearer: {
    code: 'TOKEN_MALFORMED',
    kind: 'unauthenticated',
    message: 'The Authorization header must be "Bearer", a space and a token.',
  },
  expectation: { code: 'EXPECTATION_NOT_MET', kind: 'invalid', message: 'The Expect header may only be 100-continue.' },
  notFound: { code: 'NOT_FOUND', kind: 'missing', message: 'There is nothing at this address.' },
  methodNotAllowed: { code: 'METHOD_NOT_ALLOWED', kind: 'method', message: 'This address does not allow this method.' },
  requestTimeout: { code: 'REQUEST_TIMEOUT', kind: 'timeout', message: 'The request did not arrive in time.' },
  bodiesOverloaded: {
    code: 'BODIES_OVERLOADED',
    kind: 'overloaded',
    message: 'The service is receiving more than it can hold right now. Nothing was stored; send the request again.',
  },
  answersOverloaded: {
    code: 'ANSWERS_OVERLOADED',
    kind: 'overloaded',
    message:
      'More answers wait to be read than the service can hold. Read those you asked for, then send the request again.',
  },
  connectionsOverloaded: {
    code: 'CONNECTIONS_OVERLOADED',
    kind: 'overloaded',
    message: 'More connections are open than the service holds. Use fewer, keep them open, and send the request again.',
  },
  overloaded: {
    code: 'OVERLOADED',
    kind: 'overloaded',
    message: 'The service has more to do than it can right now. Nothing was stored; send the request again.',
  },
  notJsonType: {
    code: 'UNSUPPORTED_MEDIA_TYPE',
    kind: 'unsupported',
    message: 'The Content-Type must be JSON, such as application/json.',
  },
  contentEncoding: {
    code: 'UNSUPPORTED_CONTENT_ENCODING',
    kind: 'unsupported',
    message: 'The body must be sent uncompressed, without a Content-Encoding.',
  },
  headersTooLarge: {
    code: 'HEADERS_TOO_LARGE',
    kind: 'headers-too-large',
    message: 'The address and headers of the request are larger than 16 KiB, or there are 1000 headers or more.',
  },
  stopping: {
    code: 'STOPPING',
    kind: 'unavailable',
    message: 'Not ready: the service was told to stop. Send requests to another replica.',
  },
  internal: {
    code: 'INTERNAL',
    kind: 'internal',
    message: 'Something went wrong in the service. Its log has the details under this requestId.',
  },
} as const satisfies Record<string, ErrorDefinition>
