import { refusal } from '#src/lib/app-error.ts'
import { requestErrors } from '#src/lib/request/request.errors.ts'

export const httpErrors = {
  badRequest: refusal('BAD_REQUEST', 'invalid'),
  hostCount: refusal('HOST_COUNT', 'invalid'),
  hostMalformed: refusal('HOST_MALFORMED', 'invalid'),
  httpVersion: refusal('HTTP_VERSION_NOT_SUPPORTED', 'invalid'),
  transferEncoding: refusal('UNSUPPORTED_TRANSFER_ENCODING', 'invalid'),
  noTunnel: refusal('METHOD_NOT_ALLOWED', 'method', 'NO_TUNNEL'),
  ...requestErrors,
  tokenMissing: refusal('TOKEN_MISSING', 'unauthenticated'),
  notBearer: refusal('TOKEN_MALFORMED', 'unauthenticated', 'NOT_BEARER'),
  expectation: refusal('EXPECTATION_NOT_MET', 'invalid'),
  notFound: refusal('NOT_FOUND', 'missing'),
  methodNotAllowed: refusal('METHOD_NOT_ALLOWED', 'method'),
  requestTimeout: refusal('REQUEST_TIMEOUT', 'timeout'),
  bodiesOverloaded: refusal('BODIES_OVERLOADED', 'overloaded'),
  answersOverloaded: refusal('ANSWERS_OVERLOADED', 'overloaded'),
  exportsFull: refusal('ANSWERS_OVERLOADED', 'unavailable', 'EXPORTS_FULL'),
  connectionsOverloaded: refusal('CONNECTIONS_OVERLOADED', 'overloaded'),
  overloaded: refusal('OVERLOADED', 'overloaded'),
  notJsonType: refusal('UNSUPPORTED_MEDIA_TYPE', 'unsupported'),
  contentEncoding: refusal('UNSUPPORTED_CONTENT_ENCODING', 'unsupported'),
  headersTooLarge: refusal('HEADERS_TOO_LARGE', 'headers-too-large'),
  stopping: refusal('STOPPING', 'unavailable'),
  internal: refusal('INTERNAL', 'internal'),
}
