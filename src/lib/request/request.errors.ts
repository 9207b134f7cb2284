import { refusal } from '../app-error.ts'

/** Refusals of requests that no route could read. */
export const requestErrors = {
  bodyMissing: refusal('BODY_MISSING', 'invalid'),
  bodyNotUtf8: refusal('BODY_NOT_UTF8', 'invalid'),
  bodyNotJson: refusal('BODY_NOT_JSON', 'invalid'),
  bodyTooDeep: refusal('BODY_TOO_DEEP', 'invalid'),
  forbiddenKey: refusal('FORBIDDEN_KEY', 'invalid'),
  bodyTooLarge: refusal('BODY_TOO_LARGE', 'too-large'),
  invalidRequest: refusal('INVALID_REQUEST', 'invalid'),
}
